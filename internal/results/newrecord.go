package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/version"
)

// NewRecord is the record of a run that starts at t: nothing collected, nothing graded.
func NewRecord(runID string, e *evalconfig.Eval, env Environment, runner *Runner, t time.Time) Record {
	rec := Record{
		Envelope: Envelope{Format, KindRun}, RunID: runID, EvalName: e.Config.Name,
		ConfigID: e.Config.Name, ContentHash: e.ContentHash,
		CreatedAt: Time(t), FinishedAt: Time(t),
		MST:      Producer{Version: version.Version, Producer: "berth"},
		Baseline: e.Baseline, Partial: e.Selection.Partial(), Redacted: e.Config.Redact,
		Environment: env, Runner: runner,
		Phases:   Phases{Collect: Partial, Grade: Partial},
		Variants: []VariantRecord{}, Datasets: []DatasetRecord{},
	}
	if rec.Partial {
		rec.Selection = &e.Selection
	}
	rec.Environment.Platform = runtime.GOOS + "/" + runtime.GOARCH
	rec.Environment.CI = os.Getenv("CI") != ""
	for i := range e.Variants {
		rec.Variants = append(rec.Variants, variantRecord(&e.Variants[i]))
	}
	for _, d := range e.Datasets {
		rec.Datasets = append(rec.Datasets, DatasetRecord{d.Name, len(d.Cases), d.ContentHash, d.Type})
	}
	for _, c := range e.Cases {
		rec.Expected += c.Trials * len(e.Variants)
	}
	return rec
}

// Time is how a moment is written: RFC 3339 in UTC, to the millisecond.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func variantRecord(v *evalconfig.Variant) VariantRecord {
	r := VariantRecord{
		Name: v.Name, Description: v.Description, Client: v.Client, Model: v.Model,
		ClientOptions: hideSecrets(v.Options), ToolMap: v.ToolMap, InputTemplate: v.InputTemplate,
		Servers: []ServerRecord{},
	}
	for i := range v.Servers {
		r.Servers = append(r.Servers, serverRecord(&v.Servers[i]))
	}
	return r
}

func serverRecord(s *evalconfig.Server) ServerRecord {
	return ServerRecord{
		Label: s.Label, Transport: s.Transport, Command: s.Command, Args: hideArgs(s.Args),
		EnvNames: slices.Sorted(maps.Keys(s.Env)), ServerURL: bareURL(s.URL), MinTools: s.MinTools,
	}
}

// secretName is what the name of an option suggests a secret by.
var secretName = regexp.MustCompile(`(?i)token|secret|passw|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|bearer|cookie`)

// hideSecrets replaces the values of options whose names suggest a secret by a hash, so that two
// variants can still be told apart.
func hideSecrets(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(hidden(v, false))
	if err != nil {
		return nil
	}
	return out
}

// hidden gives v with every string and number below a secret name hashed.
func hidden(v any, secret bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = hidden(x, secret || secretName.MatchString(k))
		}
		return v
	case []any:
		for i, x := range v {
			v[i] = hidden(x, secret)
		}
		return v
	case string:
		if secret {
			return hash(v)
		}
		return v
	case json.Number:
		if secret {
			return hash(v.String())
		}
		return v
	default:
		return v
	}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// hideArgs hashes what the name beside it says is a secret, in the forms that programs take: --token x,
// --token=x, TOKEN=x, "Authorization: Bearer x". A file's name is no secret.
func hideArgs(args []string) []string {
	out := make([]string, len(args))
	next := false
	for i, a := range args {
		flag := strings.HasPrefix(a, "-")
		if next && !flag {
			out[i] = hash(a)
		} else {
			out[i] = hideValue(a)
		}
		next = flag && !strings.ContainsAny(a, "=:") && namesSecret(a)
	}
	return out
}

// hideValue hashes what follows a secret's name in one argument.
func hideValue(a string) string {
	if strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://") {
		return bareURL(a)
	}
	for at, c := range a {
		if (c == '=' || c == ':') && namesSecret(a[:at]) {
			return a[:at+1] + hash(a[at+1:])
		}
	}
	return a
}

func namesSecret(name string) bool {
	return secretName.MatchString(name) && !strings.HasSuffix(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "-file")
}

// bareURL drops what may hold a credential: user, query and fragment.
func bareURL(s string) string {
	u, err := url.Parse(s)
	if s == "" || err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
