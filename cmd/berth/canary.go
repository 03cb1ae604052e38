package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/runner"
)

// canaryFlags are run's, of those that an inspection can follow.
type canaryFlags struct {
	config, runner, rootDir string
	options                 []string
	json                    bool
	save                    string
}

func (a *app) newCanary() *cobra.Command {
	var f canaryFlags
	c := &cobra.Command{
		Use:   "canary --config eval.json",
		Short: "See whether a new version of the app still shows what berth knows of it",
		Long: `Starts the ChatGPT app of the image in a fresh shard, with no way to a model, and takes it through its
first-run screens to the composer, on both surfaces. It says which screens and labels of berth's table
were there and which weren't; where one is missing it goes on by what is most like it, which a run never
does. Nothing is sent. A screen that isn't shown is no fault: an announcement comes and goes.

Exit status: 0 all that was shown is as berth knows it, 1 a label is missing or the composer wasn't
reached, 2 usage or config, 3 no shard could be set up, or no app started in it.

Runner options (--runner-option key=value, repeatable):
` + runner.RunHelp(),
		Example: `  berth runner setup podman --config eval.json --runner-option app=chatgpt_NEW_amd64.deb --name chatgpt-new
  berth canary --config eval.json --runner-option image=chatgpt-new
  berth canary --config eval.json --json | jq '.screens[].labels[] | select(.lost)'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.canary(c, f) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "the eval config, a `FILE` (required)")
	fl.StringVar(&f.runner, "runner", eval.RunnerPodman, "the container `ENGINE`: podman or containerd")
	fl.StringArrayVar(&f.options, "runner-option", nil, "`KEY=VALUE`, repeatable; see above")
	fl.StringVar(&f.rootDir, "root-dir", ".", "the `DIR` where datasets are looked for after the config's folder")
	fl.StringVar(&f.save, "save-profile", "", "save the app's state at its composer to this new `DIR`, for profile=warm")
	fl.BoolVar(&f.json, "json", false, "print what was found as JSON")
	fl.SetNormalizeFunc(olderNames)
	return c
}

func (a *app) canary(c *cobra.Command, f canaryFlags) error {
	options, err := runner.ParseOptions(f.options)
	if err == nil {
		err = options.ForRun()
	}
	if err != nil {
		return err
	}
	e, err := loadEval(f.config, evalconfig.ResolveOptions{RootDir: f.rootDir})
	if err != nil {
		return err
	}
	engine, err := a.openEngine(c.Context(), f.runner)
	if err != nil {
		return err
	}
	defer engine.Close() // its own service ends with this process anyway
	defer announceDrain(c)()
	found, err := eval.Request{
		Eval: e, Runner: f.runner, Engine: engine, Options: options,
		Progress: c.ErrOrStderr(), Drain: drained(c.Context()),
	}.Canary(c.Context(), f.save)
	if err != nil {
		return err
	}
	if err := tellCanary(c.OutOrStdout(), found, f.json); err != nil {
		return err
	}
	if !found.Good() {
		return exitStatus{code: report.ExitFailed}
	}
	return nil
}

func tellCanary(w io.Writer, found *eval.Canary, asJSON bool) error {
	if !asJSON {
		return found.WriteText(w)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(found)
}
