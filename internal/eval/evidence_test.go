package eval

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

func testRecorder(t *testing.T) *recorder {
	t.Helper()
	e := evalconfigtest.Resolve(t, config, cases)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run, err := results.Create(t.TempDir(), results.NewRecord(results.NewRunID(now), e, results.Environment{}, nil, now))
	if err != nil {
		t.Fatal(err)
	}
	secrets := &redact.Set{}
	secrets.Add(secret)
	return newRecorder(run, e, nil, secrets, nil)
}

// stream is a tar stream of entries.
func stream(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		body := []byte(h.PAXRecords["body"])
		h.PAXRecords = nil
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

func file(name string, mode int64, body string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, PAXRecords: map[string]string{"body": body}}
}

func TestEvidence(t *testing.T) {
	link := func(name, target string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
	}
	dir := func(name string, mode int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}
	}
	tests := map[string]struct {
		entries []tar.Header
		cut     int // bytes off the stream's end
		want    map[string]string
		err     error
	}{
		"files": {[]tar.Header{file("0/log", 0o600, "fine"), file("0/answer", 0o600, "it is "+secret+".")}, 0,
			map[string]string{"0/log": "fine", "0/answer": "it is [redacted]."}, nil},
		"files nobody may read": {[]tar.Header{dir("0", 0), file("0/log", 0, secret)}, 0, map[string]string{"0/log": "[redacted]"}, nil},
		"folder nobody may write": {[]tar.Header{dir("0", 0o500), file("0/log", 0o400, secret)}, 0,
			map[string]string{"0/log": "[redacted]"}, nil},
		"secret names":   {[]tar.Header{file("0/"+secret, 0o600, ""), file(secret+"/x", 0o600, "x"), file("0/log", 0o600, "")}, 0, map[string]string{"0/log": ""}, nil},
		"secret link":    {[]tar.Header{link("0", secret), file("log", 0o600, "x")}, 0, map[string]string{"log": "x"}, nil},
		"stream is cut":  {[]tar.Header{file("log", 0o600, secret), file("late", 0o600, strings.Repeat(secret, 100))}, 2048, map[string]string{"log": "[redacted]"}, io.ErrUnexpectedEOF},
		"then upwards":   {[]tar.Header{file("log", 0o600, secret), file("../up", 0o600, "x")}, 0, map[string]string{"log": "[redacted]"}, archive.ErrHostile},
		"then absolute":  {[]tar.Header{file("log", 0o600, secret), file("/up", 0o600, "x")}, 0, map[string]string{"log": "[redacted]"}, archive.ErrHostile},
		"then a way out": {[]tar.Header{file("log", 0o600, secret), link("out", "/etc")}, 0, map[string]string{"log": "[redacted]"}, archive.ErrHostile},
		"then a device":  {[]tar.Header{file("log", 0o600, secret), {Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}}, 0, map[string]string{"log": "[redacted]"}, archive.ErrHostile},
		"then twice":     {[]tar.Header{file("log", 0o600, secret), file("log", 0o600, "x")}, 0, map[string]string{"log": "[redacted]"}, archive.ErrHostile},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := testRecorder(t)
			buf := stream(t, tt.entries...)
			buf.Truncate(buf.Len() - tt.cut)
			if err := r.Evidence(3, buf); !errors.Is(err, tt.err) || err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			got := files(t, filepath.Join(r.run.Dir, "artifacts"))
			for name, body := range got {
				if strings.Contains(name+body, secret) {
					t.Errorf("%s has the secret", name)
				}
			}
			for name, body := range tt.want {
				if got["shard-3/"+name] != body {
					t.Errorf("%s: %q, want %q; all: %q", name, got["shard-3/"+name], body, got)
				}
			}
			entries, err := os.ReadDir(filepath.Join(r.run.Dir, "artifacts"))
			if err != nil || len(entries) != 1 {
				t.Errorf("in artifacts: %v, %v", entries, err)
			}
		})
	}
}

// A file with holes can be longer than all the shard's memory; it must not fill the coordinator's.
func TestEvidenceTooLarge(t *testing.T) {
	r := testRecorder(t)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o600}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "holes", Mode: 0o600, Size: evidenceMax + 1}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Evidence(0, &buf); !errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if got := files(t, filepath.Join(r.run.Dir, "artifacts")); len(got) != 1 {
		t.Errorf("kept %q, want only what came before", got)
	}
}

// TestEvidenceOfAResumedRun goes beside the first run's.
func TestEvidenceOfAResumedRun(t *testing.T) {
	r := testRecorder(t)
	for _, body := range []string{"first", "second", "third"} {
		if err := r.Evidence(0, stream(t, file("log", 0o600, body))); err != nil {
			t.Fatal(err)
		}
	}
	got := files(t, filepath.Join(r.run.Dir, "artifacts"))
	if got["shard-0/log"] != "first" || got["shard-0.2/log"] != "second" || got["shard-0.3/log"] != "third" {
		t.Errorf("got %q", got)
	}
}

func TestRecorderMasksTrials(t *testing.T) {
	r := testRecorder(t)
	k := shardproto.Key{Variant: "one", CaseID: "a"}
	res := client.Result{
		FailureCode: "timeout", Error: "after " + secret, Submitted: true,
		Metadata: map[string]any{"nested": []any{map[string]any{"x": secret}}, "quoted": `a "` + secret + `" b`},
	}
	if err := r.Trial(k, res); err != nil {
		t.Fatal(err)
	}
	for name, body := range files(t, r.run.Dir) {
		if strings.Contains(body, secret) {
			t.Errorf("%s has the secret", name)
		}
	}
	tr := r.collected()[k]
	if tr.Error != "after [redacted]" || tr.ClientMetadata["quoted"] != `a "[redacted]" b` || tr.DatasetName != "cases" {
		t.Errorf("%+v", tr)
	}
}

// A run whose responses are redacted keeps logs, and records and trees without what was answered.
func TestEvidenceOfARedactedRun(t *testing.T) {
	for _, redacted := range []bool{true, false} {
		r := testRecorder(t)
		if err := r.run.Update(func(rec *results.Record) { rec.Redacted = redacted }); err != nil {
			t.Fatal(err)
		}
		link := tar.Header{Typeflag: tar.TypeSymlink, Name: "0/a-1/matched-link.jsonl", Linkname: "matched-rollout.jsonl"}
		in := stream(t, file("0/a-1/matched-rollout.jsonl", 0o600, `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"the answer"}}`),
			file("0/a-1/"+client.AnsweredTreeFile, 0o600, "static \"the answer\" [visible]\n"), file("0/a-1/app.log", 0o600, "a log"), link)
		if err := r.Evidence(0, in); err != nil {
			t.Fatal(err)
		}
		kept := files(t, filepath.Join(r.run.Dir, "artifacts", "shard-0", "0", "a-1"))
		for name, rest := range map[string]string{"matched-rollout.jsonl": "task_complete", client.AnsweredTreeFile: "static", "app.log": "a log"} {
			body, ok := kept[name]
			if !ok || !strings.Contains(body, rest) || strings.Contains(body, "the answer") != (!redacted && name != "app.log") {
				t.Errorf("redacted %t: %s is %q", redacted, name, body)
			}
		}
		if _, err := os.Lstat(filepath.Join(r.run.Dir, "artifacts", "shard-0", "0", "a-1", "matched-link.jsonl")); (err == nil) == redacted {
			t.Errorf("redacted %t: a link by a record's name: %v", redacted, err)
		}
	}
}
