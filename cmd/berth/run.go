package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
)

// runFlags are mst's, and --script.
type runFlags struct {
	config, runner, outputDir, store, rootDir, resume, secrets string
	options                                                    []string
	selection                                                  evalconfig.Selection
	dryRun, noGrade, noReport                                  bool
	script, gatewayLog                                         string
}

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run --config eval.json",
		Short: "Run an eval in disposable shards",
		Long: `Runs an eval: whole cases are dealt to shards, each shard is one disposable container, and every
trial's result is saved as soon as it is finished. The first Ctrl-C ends gracefully and keeps what
came back; the second ends at once. Shards are removed either way.

The model is reached through a gateway (OPENAI_BASE_URL with MST_LLM_AUTH_COMMAND or OPENAI_API_KEY),
or is OpenAI's (OPENAI_API_KEY alone), or is a script (--script, no account needed).

Runner options (--runner-option key=value, repeatable):
` + runner.OptionsHelp(),
		Example: `  berth run --config eval.json --runner podman --runner-option shards=3
  berth run --config eval.json --runner podman --script script.json   # rehearse it`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.register(c)
	return c
}

func (f *runFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "the eval config (required)")
	fl.StringVar(&f.runner, "runner", eval.RunnerPodman, "the container engine: podman")
	fl.StringArrayVar(&f.options, "runner-option", nil, "key=value, repeatable; see above")
	fl.StringVar(&f.runner, "env", eval.RunnerPodman, "an older name of --runner")
	fl.StringArrayVar(&f.options, "env-option", nil, "an older name of --runner-option")
	fl.StringSliceVar(&f.selection.Variants, "variant", nil, "only these variants")
	fl.StringSliceVar(&f.selection.Cases, "case", nil, "only these cases")
	fl.StringSliceVar(&f.selection.FilterTags, "filter-tag", nil, "only cases with one of these tags")
	fl.IntVar(&f.selection.MaxCases, "max-cases", 0, "only the first N cases")
	fl.IntVar(&f.selection.Trials, "trials", 0, "how often each case runs in each variant")
	fl.StringVar(&f.outputDir, "output-dir", "", "the eval's folder (default "+results.DefaultDir+"/<name>)")
	fl.StringVar(&f.store, "store", "", "the folder that holds the folders of evals")
	fl.StringVar(&f.rootDir, "root-dir", ".", "where dataset paths are looked for after the config's folder")
	fl.StringVar(&f.secrets, "secrets-file", "", "variables for accessTokenEnv: a JSON object or NAME=value lines")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would run as JSON, and start nothing")
	fl.BoolVar(&f.noGrade, "no-grade", false, "collect only; `mst grade` can grade later")
	fl.BoolVar(&f.noReport, "no-report", false, "write no report page")
	fl.StringVar(&f.resume, "resume", "", "collect what a run lacks: its id, its last six characters, or latest")
	fl.StringVar(&f.script, "script", "", "answer by a script instead of a model (docs/gateway-script.md); \"default\" echoes")
	fl.StringVar(&f.gatewayLog, "gateway-log", "", "with --script: write each request to this file, a JSON line each")
	for _, hidden := range []string{"env", "env-option"} {
		_ = fl.MarkHidden(hidden) // it's registered above
	}
}

func (f *runFlags) run(c *cobra.Command) error {
	options, err := runner.ParseOptions(f.options)
	if err != nil {
		return err
	}
	e, err := loadEval(f.config, evalconfig.ResolveOptions{Selection: f.selection, RootDir: f.rootDir, NoGrade: f.noGrade})
	if err != nil {
		return err
	}
	dir := eval.EvalDir(e.Config, f.outputDir, f.store)
	if f.dryRun {
		return f.printPlan(c, e, dir)
	}
	q := eval.Request{
		Eval: e, Runner: f.runner, Options: options, EvalDir: dir, Resume: f.resume, NoGrade: f.noGrade,
		SecretsFile: f.secrets, GatewayLog: f.gatewayLog, Progress: c.ErrOrStderr(), Drain: drained(c.Context()),
	}
	if f.script != "" {
		s, err := loadScript(f.script)
		if err != nil {
			return usageError{err}
		}
		q.Script = &s
	}
	if q.Engine, err = eval.OpenEngine(c.Context(), f.runner); err != nil {
		return err
	}
	defer q.Engine.Close() // its own service ends with this process anyway
	res, err := eval.Run(c.Context(), q)
	if err != nil {
		return err
	}
	return f.tell(c, res)
}

// tell prints the summary, writes the page and turns the outcome into an exit status.
func (f *runFlags) tell(c *cobra.Command, res *eval.Result) error {
	if context.Cause(c.Context()) != nil {
		return errInterrupted
	}
	if err := res.SetupError(); err != nil {
		return exitStatus{report.ExitSetup, err}
	}
	page := ""
	if !f.noReport {
		var err error
		if page, err = report.Write(res.Finished); err != nil {
			return err
		}
	}
	if err := res.Publish(); err != nil {
		return err
	}
	if err := report.Table(c.OutOrStdout(), res.Finished); err != nil {
		return err
	}
	if page != "" {
		fmt.Fprintf(c.OutOrStdout(), "Report:  %s\n", page)
	}
	if status := res.ExitStatus(); status != report.ExitPassed {
		return exitStatus{code: status}
	}
	return nil
}

// loadEval reads and resolves a config.
func loadEval(path string, o evalconfig.ResolveOptions) (*evalconfig.Eval, error) {
	cfg, err := evalconfig.Load(path)
	if err != nil {
		return nil, err
	}
	return cfg.Resolve(o)
}

// printPlan is --dry-run: one JSON object, as mst prints it.
func (f *runFlags) printPlan(c *cobra.Command, e *evalconfig.Eval, dir string) error {
	type dataset struct {
		Name  string `json:"name"`
		Cases int    `json:"cases"`
	}
	out := struct {
		Name      string                `json:"name"`
		OutputDir string                `json:"outputDir"`
		Datasets  []dataset             `json:"datasets"`
		Variants  []string              `json:"variants"`
		Partial   bool                  `json:"partial"`
		Selection *evalconfig.Selection `json:"selection,omitempty"`
	}{Name: e.Config.Name, OutputDir: dir, Partial: e.Selection.Partial()}
	for _, d := range e.Datasets {
		out.Datasets = append(out.Datasets, dataset{d.Name, len(d.Cases)})
	}
	for i := range e.Variants {
		out.Variants = append(out.Variants, e.Variants[i].Name)
	}
	if out.Partial {
		out.Selection = &e.Selection
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), string(b))
	return err
}
