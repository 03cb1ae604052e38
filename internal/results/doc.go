// Package results keeps a run's folder in the mst.run/v1 format (contract §8): a trial is on disk as
// soon as it has finished, every file is replaced whole, and `latest.json` is written last and only
// for a complete, full, graded run. What berth knows beyond MST goes into optional fields, which the
// format's readers ignore. It also joins trials and scores into the totals that a report shows. It
// runs nothing and prints nothing.
//
//	<eval folder>/latest.json
//	<eval folder>/runs/<run id>/run.json  results.json  summary.json
//	    traces/<variant>/<case>/<trial>.json
//	    scores/<grader>/<variant>/<case>/<trial>.json
//	    artifacts/  report/
package results
