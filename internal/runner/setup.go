package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
)

// setUp proves the shard and readies it for its first trial.
func (s *shard) setUp(ctx context.Context, l channel.Shard) error {
	type step struct {
		name string
		do   func(context.Context, channel.Shard) error
	}
	steps := []step{
		{"selfcheck", s.selfCheck},
		{"bundle", s.putBundle},
		{"inference", s.openInference},
	}
	if s.Options.Profile == ProfileWarm {
		steps = append(steps, step{"profile", s.putProfile})
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
	if err := tar1(&buf, shardproto.BundleFile, body); err != nil {
		return err
	}
	return again(func() error { return l.Put(ctx, oci.RunDir+"/bundle", bytes.NewReader(buf.Bytes())) })
}

// openInference serves the tunnel, hands over the credential and proves the way to the model. The
// renewals and the server live until ctx, the link's, ends.
func (s *shard) openInference(ctx context.Context, l channel.Shard) error {
	index := s.bundle.Shard.Index
	if s.Inference.Handler != nil {
		serveTunnel(ctx, l.Tunnel(), s.Inference.Handler(index))
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
	return judgeInference(report, s.Inference.Models)
}

// serveTunnel answers what the shard's processes ask of the gateway. What is under way when ctx ends
// is cut.
func serveTunnel(ctx context.Context, tunnel net.Listener, h http.Handler) {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
		// What a shard sends is nothing to write to the user's terminal.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = srv.Serve(tunnel) }() // ends with the link, as its connections do; that reports by itself
}

// judgeInference says what is wrong with the way to the model, if anything is.
func judgeInference(r channel.InferenceReport, models []string) error {
	if r.Phase != "" {
		detail := r.Detail
		if r.Status >= http.StatusMultipleChoices {
			detail = strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, detail))
		}
		return code.Errorf(code.InferenceUnavailable, "%s: %s", r.Phase, detail)
	}
	for _, m := range models {
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
