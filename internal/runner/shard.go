package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
)

// shard is one shard's part of a run.
type shard struct {
	*Run
	bundle *shardproto.Bundle
	say    shardProgress
	places *quota
	out    ShardOutcome
}

func newShard(r *Run, b *shardproto.Bundle, p *progress, places *quota) *shard {
	return &shard{
		Run: r, bundle: b, say: p.shard(b.Shard), places: places,
		out: ShardOutcome{Shard: b.Shard, Steps: Steps{}},
	}
}

// live is a shard's whole life; what it made is gone when it returns, unless it is to be kept.
func (s *shard) live(ctx context.Context) ShardOutcome {
	col := newCollector(s)
	s.out.Err = s.make(ctx, func(sh backends.Shard) error {
		return s.link(ctx, sh, func(ctx context.Context, l channel.Shard) error {
			if err := s.setUp(ctx, l); err != nil {
				return err
			}
			s.out.Started = true
			return s.out.Steps.time("collect", func() error { return col.run(ctx, l) })
		})
	})
	col.settle(s.out.Err)
	if s.out.Err != nil {
		s.say.printf("stopped: %v", s.out.Err)
	}
	return s.out
}

// make creates and starts the shard for as long as use takes.
func (s *shard) make(ctx context.Context, use func(backends.Shard) error) error {
	spec, err := s.Spec.Spec()
	if err != nil {
		return code.Errorf(code.ShardNotCreated, "%w", err)
	}
	var sh backends.Shard
	err = s.out.Steps.time("create", func() (err error) {
		sh, err = s.Backend.Create(ctx, backends.Config{
			Name: s.name(), Image: s.Image, Spec: spec, Network: s.Network, Labels: s.Labels(s.bundle.Shard.Index),
		})
		return err
	})
	if err != nil {
		return code.Errorf(code.ShardNotCreated, "%w", err)
	}
	s.out.ID = sh.ID()
	if err = s.out.Steps.time("start", func() error { return sh.Start(ctx) }); err != nil {
		err = code.Errorf(code.ShardNotCreated, "%w", err)
	} else {
		err = use(sh)
	}
	return errors.Join(err, s.dispose(ctx, sh, err))
}

func (s *shard) name() string {
	return fmt.Sprintf("berth-%s-%d", strings.ToLower(s.ID), s.bundle.Shard.Index)
}

// removeWithin bounds a clean-up that goes on after the run's own context ended.
const removeWithin = time.Minute

// dispose removes the shard, or leaves it as `keep` says.
func (s *shard) dispose(ctx context.Context, sh backends.Shard, err error) error {
	if s.Options.Keep == KeepAlways || s.Options.Keep == KeepFailed && err != nil {
		s.out.Kept = true
		s.say.printf("kept as %s", sh.ID())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	err = s.out.Steps.time("remove", func() error { return sh.Remove(ctx) })
	if err != nil {
		return fmt.Errorf("shard %s is left on the engine: %w", sh.ID(), err)
	}
	return nil
}

// link opens the channel for as long as use takes. When PID 1 ends meanwhile, use's context does
// too, so nobody waits for a link that can't come back.
func (s *shard) link(ctx context.Context, sh backends.Shard, use func(context.Context, channel.Shard) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		st, err := sh.Wait(ctx)
		if err == nil {
			cancel(shardEnded(st))
		}
	}()
	var l *channel.Client
	err := s.out.Steps.time("channel", func() (err error) {
		l, err = channel.Dial(ctx, channelOpener(sh), channel.Options{})
		return err
	})
	if err != nil {
		return s.lost(ctx, err)
	}
	err = use(ctx, l)
	if err == nil {
		err = s.finish(ctx, l)
	} else if s.Options.Keep != KeepNever {
		s.keep(ctx, l)
	}
	l.Close()
	err = s.lost(ctx, err)
	cancel(nil)
	<-ended
	return err
}

// finish ends the worker in good order, or tells it to stay.
func (s *shard) finish(ctx context.Context, l channel.Shard) error {
	if s.Options.Keep == KeepAlways {
		s.keep(ctx, l)
		return nil
	}
	return s.out.Steps.time("shutdown", func() error {
		ctx, cancel := context.WithTimeout(ctx, cancelGrace)
		defer cancel()
		// The container is removed next in any case, so a worker that doesn't answer changes nothing.
		if err := l.Shutdown(ctx); err != nil {
			s.say.printf("the worker didn't end by itself: %v", err)
		}
		return nil
	})
}

func (s *shard) keep(ctx context.Context, l channel.Shard) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.Keep(ctx); err != nil {
		s.say.printf("can't tell the shard that it is kept; it ends itself after %s: %v", s.Options.Deadman, err)
	}
}

func shardEnded(st backends.ExitStatus) error {
	if st.OOMKilled {
		return code.Errorf(code.OOMKilled, "the shard's memory limit was hit; raise it with --runner-option memory=")
	}
	return code.Errorf(code.ShardLost, "%w with status %d", errShardEnded, st.Code)
}

// lost names why a link's user failed: the cause of the context's end says more than a cut stream.
func (s *shard) lost(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && code.Of(err) == "" {
		return cause
	}
	if code.Of(err) == "" {
		return code.Errorf(code.ShardLost, "%w", err)
	}
	return err
}

// setUp proves the shard and readies it for its first trial.
func (s *shard) setUp(ctx context.Context, l channel.Shard) error {
	steps := []struct {
		name string
		do   func(context.Context, channel.Shard) error
	}{
		{"selfcheck", s.selfCheck},
		{"bundle", s.putBundle},
		{"inference", s.openInference},
	}
	for _, step := range steps {
		if err := s.out.Steps.time(step.name, func() error { return step.do(ctx, l) }); err != nil {
			return err
		}
	}
	return nil
}

// selfCheck ends the run when a protection is missing, or a limit and the user didn't allow that.
func (s *shard) selfCheck(ctx context.Context, l channel.Shard) error {
	spec, err := s.Spec.Spec()
	if err != nil {
		return err
	}
	expect := selfcheck.FromSpec(spec, s.Network)
	expect.Foreign = selfcheck.OwnNamespaces()
	s.out.Check, err = l.SelfCheck(ctx, expect)
	if err != nil {
		return err
	}
	if names := selfcheck.Missing(s.out.Check.Protections); len(names) > 0 {
		return code.Errorf(code.ProtectionMissing, "not in force in the shard: %s", strings.Join(names, ", "))
	}
	names := selfcheck.Missing(s.out.Check.Limits)
	if len(names) == 0 {
		return nil
	}
	if s.Options.Limits == LimitsBestEffort {
		s.say.printf("limits not in force: %s (limits=best-effort)", strings.Join(names, ", "))
		return nil
	}
	return code.Errorf(code.LimitsNotEnforced, "the engine doesn't apply %s here; delegate the cgroup controllers to this user, or run without them by --runner-option limits=best-effort", strings.Join(names, ", "))
}

func (s *shard) putBundle(ctx context.Context, l channel.Shard) error {
	body, err := json.Marshal(s.bundle)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: shardproto.BundleFile, Mode: 0o600, Size: int64(len(body))}); err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return l.Put(ctx, oci.RunDir+"/bundle", &buf)
}

// openInference serves the tunnel, hands over the credential and proves the way to the model. The
// renewals and the server live until ctx, the link's, ends.
func (s *shard) openInference(ctx context.Context, l channel.Shard) error {
	index := s.bundle.Shard.Index
	if s.Inference.Handler != nil {
		srv := &http.Server{Handler: s.Inference.Handler(index), ReadHeaderTimeout: time.Minute}
		go srv.Serve(l.Tunnel()) //nolint:errcheck // ends with the link, which reports by itself
	}
	write := func(ctx context.Context, token []byte) error {
		return l.WriteToken(ctx, channel.TokenInference, token)
	}
	warn := func(err error) { s.say.printf("inference token not renewed: %v", err) }
	if err := s.Inference.Provide(ctx, index, write, warn); err != nil {
		return code.Errorf(code.InferenceUnavailable, "%w", err)
	}
	if s.Inference.Handler == nil {
		return nil
	}
	report, err := l.ProbeInference(ctx, channel.InferenceProbe{Path: s.Inference.Probe, Token: channel.TokenInference})
	if err != nil {
		return err
	}
	return s.judgeInference(report)
}

func (s *shard) judgeInference(r channel.InferenceReport) error {
	if r.Phase != "" {
		return code.Errorf(code.InferenceUnavailable, "%s: %s", r.Phase, r.Detail)
	}
	for _, m := range s.Inference.Models {
		if !slices.Contains(r.Models, m) {
			return code.Errorf(code.InferenceUnavailable, "the gateway doesn't list model %q; it lists %s", m, listed(r.Models))
		}
	}
	return nil
}

func listed(models []string) string {
	const few = 8
	switch n := len(models); {
	case n == 0:
		return "none"
	case n > few:
		return fmt.Sprintf("%s and %d more", strings.Join(models[:few], ", "), n-few)
	}
	return strings.Join(models, ", ")
}

// untar1 reads the one regular file of a tar stream, up to limit bytes.
func untar1(r io.Reader, limit int64) ([]byte, error) {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > limit {
			return nil, fmt.Errorf("%s is %d bytes, over the limit of %d", h.Name, h.Size, limit)
		}
		return io.ReadAll(t)
	}
}
