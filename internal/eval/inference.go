package eval

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/inference"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// way is how this run reaches its models, and what has to be closed after it.
type way struct {
	*inference.Way
	scripted bool
	closes   []func() error
}

func (w *way) close() error {
	var errs []error
	for _, f := range w.closes {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// openWay takes the way from the environment, or serves a script on loopback for the run's length.
func openWay(script *gateway.Script, logFile, credential string, secrets *redact.Set) (*way, error) {
	w := &way{}
	var err error
	if script != nil {
		err = w.serve(*script, logFile, secrets)
	} else {
		w.Way, err = inference.FromEnv(os.Getenv, secrets)
	}
	if err == nil && credential == runner.CredentialBroker {
		err = w.Broker()
	}
	if err != nil {
		return nil, also(err, w.close())
	}
	return w, nil
}

// serve starts the scripted gateway with a token of its own, so that the whole credential path is
// the one of a real gateway.
func (w *way) serve(script gateway.Script, logFile string, secrets *redact.Set) error {
	var log io.Writer
	if logFile != "" {
		f, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		w.closes = append(w.closes, f.Close)
		log = f
	}
	token := gateway.Random()
	g, err := gateway.New(script, gateway.Options{Token: token, Log: log, Secrets: secrets})
	if err != nil {
		return err
	}
	base, stop, err := g.Start("127.0.0.1:0")
	if err != nil {
		return err
	}
	w.closes = slices.Insert(w.closes, 0, stop)
	w.scripted = true
	source := inference.NewSource(func(context.Context) (string, error) { return token.Current() }, 0, secrets)
	w.Way, err = inference.ToGateway(base, source, secrets)
	return err
}

// shards is the way as the runner takes it.
func (w *way) shards(e *evalconfig.Eval) runner.Inference {
	in := runner.Inference{Mode: w.Mode(), Provide: w.Provide}
	if w.Mode() == client.ModeGateway {
		in.Handler, in.Probe, in.Models = w.Handler, w.ProbePath(), models(e)
	}
	return in
}

// bundle is the way as a shard is told it.
func (w *way) bundle() shardproto.Inference {
	if w.Mode() != client.ModeGateway {
		return shardproto.Inference{Mode: w.Mode()}
	}
	return shardproto.Inference{Mode: w.Mode(), BasePath: w.Path()}
}

// models are those that the eval's variants ask for, each once.
func models(e *evalconfig.Eval) []string {
	var names []string
	for i := range e.Variants {
		if m := e.Variants[i].Model; m != "" && !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}
