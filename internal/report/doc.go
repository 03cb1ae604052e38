// Package report shows a finished run to people: the table on stdout, the static page in report/,
// and the exit code that a script reads. It computes nothing but layout; every number is from
// package results, and a redacted run's answers never reach it.
package report
