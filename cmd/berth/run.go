package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/gateway"
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

func (a *app) newRun() *cobra.Command {
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
` + runner.RunHelp(),
		Example: `  berth run --config eval.json --runner podman --runner-option shards=3
  berth run --config eval.json --variant baseline --case rb-001 rb-002
  berth run --config eval.json --script script.json   # rehearse it without a model
  berth run --config eval.json --resume latest        # collect what a run lacks`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c, &f) },
	}
	f.register(c)
	return c
}

func (f *runFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "the eval config, a `FILE` (required)")
	fl.StringVar(&f.runner, "runner", eval.RunnerPodman, "the container `ENGINE`: podman or containerd")
	fl.StringArrayVar(&f.options, "runner-option", nil, "`KEY=VALUE`, repeatable; see above")
	fl.StringArrayVar(&f.selection.Variants, "variant", nil, "only the variant of this `NAME`; repeatable, or --variant A B")
	fl.StringArrayVar(&f.selection.Cases, "case", nil, "only the case of this `ID`; repeatable, or --case A B")
	fl.StringArrayVar(&f.selection.FilterTags, "filter-tag", nil, "only cases with this `TAG`, or one of several; repeatable, or --filter-tag A B")
	fl.IntVar(&f.selection.MaxCases, "max-cases", 0, "only the first `N` cases")
	fl.IntVar(&f.selection.Trials, "trials", 0, "run each case `N` times in each variant")
	fl.StringVar(&f.outputDir, "output-dir", "", "the `DIR` of this eval's runs (default "+results.DefaultDir+"/NAME)")
	fl.StringVar(&f.store, "store", "", "the `DIR` that holds the evals' folders")
	fl.StringVar(&f.rootDir, "root-dir", ".", "the `DIR` where datasets are looked for after the config's folder")
	fl.StringVar(&f.secrets, "secrets-file", "", "a `FILE` of variables for accessTokenEnv: a JSON object or NAME=value lines")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would run as JSON, and start nothing")
	fl.BoolVar(&f.noGrade, "no-grade", false, "collect only; mst grade can grade later")
	fl.BoolVar(&f.noReport, "no-report", false, "write no report page")
	fl.StringVar(&f.resume, "resume", "", "collect what a `RUN` lacks: its id, its last six characters, or latest")
	fl.StringVar(&f.script, "script", "", "answer by a `FILE` instead of a model (docs/gateway-script.md); \"default\" echoes")
	fl.StringVar(&f.gatewayLog, "gateway-log", "", "with --script: write each request to this `FILE`, a JSON line each")
	fl.SetNormalizeFunc(olderNames)
}

// olderNames takes a flag by the name that mst had for it before.
func olderNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "env":
		name = "runner"
	case "env-option":
		name = "runner-option"
	}
	return pflag.NormalizedName(name)
}

func (a *app) run(c *cobra.Command, f *runFlags) error {
	options, err := runner.ParseOptions(f.options)
	if err == nil {
		err = options.ForRun()
	}
	if err == nil {
		err = positive(c.Flags(), "max-cases", "trials")
	}
	if err != nil {
		return err
	}
	e, err := loadEval(f.config, evalconfig.ResolveOptions{Selection: f.selection, RootDir: f.rootDir, NoGrade: f.noGrade})
	if err != nil {
		return err
	}
	q := eval.Request{
		Eval: e, Runner: f.runner, Options: options, EvalDir: eval.EvalDir(e.Config, f.outputDir, f.store),
		Resume: f.resume, NoGrade: f.noGrade, SecretsFile: f.secrets, GatewayLog: f.gatewayLog,
		Progress: c.ErrOrStderr(), Drain: drained(c.Context()),
	}
	if q.Script, err = f.readScript(); err != nil {
		return err
	}
	if f.dryRun {
		return printPlan(c.OutOrStdout(), e, q.EvalDir)
	}
	if q.Engine, err = a.openEngine(c.Context(), f.runner); err != nil {
		return err
	}
	defer q.Engine.Close() // its own service ends with this process anyway
	defer announceDrain(c)()
	res, err := eval.Run(c.Context(), q)
	if err != nil {
		return err
	}
	return f.tell(c, res)
}

// positive refuses a count that was given as nothing or less; not given, it's the config's.
func positive(fl *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if n, err := fl.GetInt(name); err != nil || fl.Changed(name) && n < 1 {
			return usageError{errors.Join(fmt.Errorf("--%s must be 1 or more, got %d", name, n), err)}
		}
	}
	return nil
}

// readScript is --script's, nil without.
func (f *runFlags) readScript() (*gateway.Script, error) {
	if f.script == "" {
		if f.gatewayLog != "" {
			return nil, usageError{errors.New("--gateway-log is the log of --script's gateway, and there is no --script")}
		}
		return nil, nil
	}
	s, err := loadScript(f.script)
	if err != nil {
		return nil, usageError{err}
	}
	return &s, nil
}

// tell writes the page, prints the summary and turns the outcome into an exit status. A page that
// can't be written hides nothing.
func (f *runFlags) tell(c *cobra.Command, res *eval.Result) error {
	if c.Context().Err() != nil {
		return fmt.Errorf("%w; what came back is in %s, and --resume %s collects the rest", errInterrupted, res.Dir, res.Record.RunID)
	}
	if err := res.SetupError(); err != nil {
		return exitStatus{report.ExitSetup, err}
	}
	page, err := f.writePage(res)
	if err == nil {
		err = res.Publish()
	}
	terr := report.Table(c.OutOrStdout(), res.Finished)
	if errors.Is(terr, syscall.EPIPE) {
		terr = nil // whoever read it has seen enough
	}
	err = errors.Join(err, terr)
	if page != "" {
		fmt.Fprintf(c.OutOrStdout(), "Report:  %s\n", page)
	}
	if err != nil {
		return exitStatus{report.ExitInfra, err}
	}
	if status := res.ExitStatus(); status != report.ExitPassed {
		return exitStatus{code: status}
	}
	return nil
}

func (f *runFlags) writePage(res *eval.Result) (string, error) {
	if f.noReport {
		return "", nil
	}
	return report.Write(res.Finished)
}

// loadEval reads and resolves a config; whatever is wrong with it is for its author to mend.
func loadEval(path string, o evalconfig.ResolveOptions) (*evalconfig.Eval, error) {
	cfg, err := evalconfig.Load(path)
	if err != nil {
		return nil, usageError{err}
	}
	e, err := cfg.Resolve(o)
	if err != nil {
		return nil, usageError{err}
	}
	return e, nil
}
