package evalconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write puts files into a new folder and gives its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const oneCase = `{"name": "d", "cases": [{"id": "a", "input": "hello"}]}`

// resolve loads and resolves eval.json beside a dataset.
func resolve(t *testing.T, config string, datasets map[string]string, o ResolveOptions) (*Eval, error) {
	t.Helper()
	files := map[string]string{"eval.json": config, "cases.json": oneCase}
	for k, v := range datasets {
		files[k] = v
	}
	cfg, err := Load(filepath.Join(write(t, files), "eval.json"))
	if err != nil {
		return nil, err
	}
	return cfg.Resolve(o)
}

const head = `{"name": "e", "datasets": ["cases.json"], "client": "berth/client/codex", "model": "m"`

func TestConfigProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		want   string // after the file's name
		kind   error
	}{
		"unknown key":              {head + ",\n  \"variannts\": []}", `:2:3: "variannts" isn't a key of an eval config; did you mean "variants"?`, ErrInvalid},
		"other case":               {head + `, "pass_threshold": 1}`, `did you mean "passThreshold"?`, ErrInvalid},
		"far from any key":         {head + `, "zzzzzzzzzzzz": 1}`, `it has $schema, baseline, client,`, ErrInvalid},
		"renamed iterations":       {head + `, "iterations": 3}`, `"iterations" is an old name; write "trials"`, ErrInvalid},
		"renamed arms":             {head + `, "arms": []}`, `write "variants"`, ErrInvalid},
		"renamed scenarioTemplate": {head + `, "scenarioTemplate": ""}`, `write "inputTemplate"`, ErrInvalid},
		"renamed threshold":        {head + `, "accuracyThreshold": 1}`, `write "passThreshold"`, ErrInvalid},
		"renamed toolOverrides":    {head + `, "toolOverrides": {}}`, `write "tools"`, ErrInvalid},
		"renamed host":             {head + `, "host": {}}`, `write "client", "model" and "clientOptions"`, ErrInvalid},
		"renamed in a variant":     {head + `, "variants": [{"name": "v", "toolOverrides": {}}]}`, `write "tools"`, ErrInvalid},
		"renamed in run":           {head + `, "run": {"iterations": 3}}`, `write "trials"`, ErrInvalid},
		"profile":                  {head + `, "profile": "x"}`, `"profile" is an old name; it's gone`, ErrInvalid},
		"no name":                  {`{"datasets": ["cases.json"]}`, `an eval config needs "name"`, ErrInvalid},
		"no datasets":              {`{"name": "e", "datasets": []}`, `datasets is empty`, ErrInvalid},
		"key twice":                {`{"name": "e", "name": "f"}`, `:1:15: "name" is given twice`, ErrInvalid},
		"not JSON":                 {"{\n  \"name\": e\n}", `:2:11: isn't JSON`, ErrInvalid},
		"a comment":                {"{\n// hello\n}", `:2:1: isn't JSON`, ErrInvalid},
		"ends early":               {`{"name": "e"`, `ends too early`, ErrInvalid},
		"text after the end":       {head + "}\n{}", `:2:1: text after the end`, ErrInvalid},
		"byte order mark":          {"\xef\xbb\xbf{}", `byte order mark`, ErrInvalid},
		"not UTF-8":                {"{\"name\": \"\xff\"}", `:1:11: isn't UTF-8`, ErrInvalid},
		"wrong type":               {head + `, "trials": "3"}`, `trials must be a number, not a string`, ErrInvalid},
		"trials 0":                 {head + `, "trials": 0}`, `trials is 0; it must be a whole number from 1 to 100000`, ErrInvalid},
		"trials 1.5":               {head + `, "run": {"trials": 1.5}}`, `trials is 1.5; it must be a whole number`, ErrInvalid},
		"threshold 2":              {head + `, "passThreshold": 2}`, `passThreshold is 2; it must be from 0 to 1`, ErrInvalid},
		"servers as a list":        {head + `, "servers": []}`, `keyed by label, not a list`, ErrInvalid},
		"server with a label":      {head + `, "servers": {"a": {"label": "a", "transport": "stdio", "command": "x"}}}`, `its key "a" is its label`, ErrInvalid},
		"connector":                {head + `, "servers": {"a": {"connector": "acme/connector/a"}}}`, `connectors come from plugins`, ErrUnsupported},
		"no transport":             {head + `, "servers": {"a": {"command": "x"}}}`, `needs "transport"`, ErrInvalid},
		"bad transport":            {head + `, "servers": {"a": {"transport": "sse"}}}`, `transport must be "stdio" or "http"`, ErrInvalid},
		"no command":               {head + `, "servers": {"a": {"transport": "stdio"}}}`, `server a needs "command"`, ErrInvalid},
		"key of the other one":     {head + `, "servers": {"a": {"transport": "stdio", "command": "x", "serverUrl": "http://h"}}}`, `"serverUrl" isn't a key of server a`, ErrInvalid},
		"credentials in a URL":     {head + `, "servers": {"a": {"transport": "http", "serverUrl": "https://u:p@h/x"}}}`, `must not hold credentials`, ErrInvalid},
		"not a URL":                {head + `, "servers": {"a": {"transport": "http", "serverUrl": "h/x"}}}`, `http or https URL`, ErrInvalid},
		"headers":                  {head + `, "servers": {"a": {"transport": "http", "serverUrl": "https://h", "headers": {}}}}`, `headers on an http server aren't supported`, ErrUnsupported},
		"oauth":                    {head + `, "servers": {"a": {"transport": "http", "serverUrl": "https://h", "auth": {"oauth": {}}}}}`, `oauth isn't supported`, ErrUnsupported},
		"Cowork placeholder":       {head + `, "servers": {"a": {"transport": "stdio", "command": "x", "args": ["${bearerToken}"]}}}`, `${bearerToken} is resolved by Cowork only`, ErrUnsupported},
		"minTools 0":               {head + `, "servers": {"a": {"transport": "stdio", "command": "x", "minTools": 0}}}`, `minTools is 0`, ErrInvalid},
		"eval endpoint":            {head + `, "requireEvalEndpoint": true, "servers": {"a": {"transport": "http", "serverUrl": "https://h/mcp"}}}`, `has no /eval`, ErrInvalid},
		"label of no server":       {head + `, "servers": {"wiki": {"transport": "stdio", "command": "x"}}, "variants": [{"name": "v", "servers": ["wikis"]}]}`, `server "wikis" doesn't exist (did you mean "wiki"?)`, ErrInvalid},
		"bad label":                {head + `, "servers": {"1st": {"transport": "stdio", "command": "x"}}}`, `server label "1st" must match`, ErrInvalid},
		"reserved label":           {head + `, "servers": {"codex": {"transport": "stdio", "command": "x"}}}`, `is reserved`, ErrInvalid},
		"variant but for case":     {head + `, "variants": [{"name": "v"}, {"name": "V"}]}`, `a second variant is called "V" (the first at `, ErrInvalid},
		"variant twice":            {head + `, "variants": [{"name": "v"}, {"name": "v"}]}`, `a second variant is called "v" (the first at `, ErrInvalid},
		"no such baseline":         {head + `, "variants": [{"name": "plain"}], "baseline": "plian"}`, `baseline "plian" doesn't exist (did you mean "plain"?)`, ErrInvalid},
		"template without input":   {head + `, "inputTemplate": "hi"}`, `has no {{input}}`, ErrInvalid},
		"extends":                  {head + `, "extends": ["acme/config/x"]}`, `berth can't load shared configs`, ErrUnsupported},
		"plugins":                  {head + `, "plugins": ["./p.js"]}`, `berth loads no JavaScript plugins`, ErrUnsupported},
		"gcs":                      {`{"name": "e", "datasets": [{"type": "gcs", "uri": "gs://b/o"}]}`, `datasets in gcs aren't supported`, ErrUnsupported},
		"plugin dataset":           {`{"name": "e", "datasets": ["cases.json", {"type": "acme/dataset/x"}]}`, `dataset "acme/dataset/x" comes from a plugin`, ErrUnsupported},
		"snapshot":                 {`{"name": "e", "datasets": [{"ref": "x", "snapshot": "y"}]}`, `dataset snapshots`, ErrUnsupported},
		"plugin store":             {head + `, "results": {"store": {"type": "acme/result-store/x"}}}`, `result store "acme/result-store/x"`, ErrUnsupported},
		"plugin metric":            {head + `, "metrics": ["passed", "acme/metric/x"]}`, `metric "acme/metric/x" comes from a plugin`, ErrUnsupported},
		"judges":                   {head + `, "judges": ["rubric"]}`, "grade the run with `mst grade`", ErrUnsupported},
		"simulateWrites":           {head + `, "simulateWrites": true}`, `simulateWrites isn't supported`, ErrUnsupported},
		"tools":                    {head + `, "tools": {"a": {"description": "x"}}}`, `can't show other tool metadata`, ErrUnsupported},
		"no client":                {`{"name": "e", "datasets": ["cases.json"]}`, `isn't run by berth; set "client" to "chatgpt" or "berth/client/codex"`, ErrUnsupported},
		"cowork":                   {`{"name": "e", "datasets": ["cases.json"], "client": "cowork"}`, `client cowork isn't supported by berth; run it with mst, or set "client" to "chatgpt" or "berth/client/codex"`, ErrUnsupported},
		"bare codex":               {`{"name": "e", "datasets": ["cases.json"], "client": "codex"}`, `did you mean "berth/client/codex"?`, ErrInvalid},
		"plugin client":            {`{"name": "e", "datasets": ["cases.json"], "client": "acme/client/x"}`, `comes from a plugin`, ErrUnsupported},
		"misspelt client":          {`{"name": "e", "datasets": ["cases.json"], "client": "chatgtp"}`, `client "chatgtp" doesn't exist (did you mean "chatgpt"?); berth drives "chatgpt" or "berth/client/codex"`, ErrInvalid},
		"no model":                 {`{"name": "e", "datasets": ["cases.json"], "client": "berth/client/codex"}`, `needs a model`, ErrInvalid},
		"bad model":                {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "a b"}`, `model "a b" must match`, ErrInvalid},
		"nested client":            {head + `, "clientOptions": {"model": "x"}}`, `clientOptions must not have "model"`, ErrInvalid},
		"nested options":           {head + `, "clientOptions": {"options": {}}}`, `must not nest "options"`, ErrInvalid},
		"bad effort":               {head + `, "clientOptions": {"reasoningEffort": "lots"}}`, `must be one of none, minimal, low`, ErrInvalid},
		"unknown option":           {head + `, "clientOptions": {"reasoningefort": "low"}}`, `did you mean "reasoningEffort"?`, ErrInvalid},
		"chatgpt's option":         {head + `, "clientOptions": {"surface": "codex"}}`, `"surface" isn't a key of clientOptions of berth/client/codex`, ErrInvalid},
		"bad variable":             {head + `, "clientOptions": {"env": {"A B": "x"}}}`, `"A B" isn't a variable's name`, ErrInvalid},
		"chatgpt prompt":           {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "clientOptions": {"systemPrompt": "x"}}`, `chatgpt takes no systemPrompt`, ErrInvalid},
		"chatgpt actions":          {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "clientOptions": {"nativeMaxActions": 65}}`, `from 1 to 64`, ErrInvalid},
		"chatgpt concurrency":      {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "concurrency": 2}`, `concurrency must be 1 with client chatgpt`, ErrInvalid},
		"chatgpt on macOS":         {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "clientOptions": {"computerUseModel": "x"}}`, `macOS only`, ErrUnsupported},
		"chatgpt provider":         {`{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "provider": "google"}`, `works with provider "openai" only`, ErrInvalid},
		"limit 0":                  {head + `, "limits": {"providers": {"openai": 0}}}`, `limits.providers.openai is 0`, ErrInvalid},
		"price without output":     {head + `, "pricing": {"m": {"input": 1}}}`, `a price needs "output"`, ErrInvalid},
		"missing dataset":          {`{"name": "e", "datasets": ["nope.json"], "client": "chatgpt", "model": "m"}`, `dataset nope.json doesn't exist`, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolve(t, tc.config, nil, ResolveOptions{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want …%s…", err, tc.want)
			}
			if !errors.Is(err, tc.kind) {
				t.Errorf("%v is not %v", err, tc.kind)
			}
			if !strings.Contains(err.Error(), "eval.json") {
				t.Errorf("%v doesn't name the file", err)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := resolve(t, "{\n\"nam\": \"e\",\n\"trials\": 0,\n\"datasets\": [\"cases.json\"]\n}", nil, ResolveOptions{})
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != 3 {
		t.Fatalf("want 3 problems, got %v", err)
	}
	var lines []int
	for _, p := range ps {
		lines = append(lines, p.Place.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestConfigValues(t *testing.T) {
	e, err := resolve(t, `{
	  "$schema": "x", "name": "e", "datasets": ["cases.json"], "client": "mst/client/chatgpt", "model": "m",
	  "clientOptions": {"reasoningEffort": "medium", "requireMcpCalls": true},
	  "run": {"trials": 3, "passThreshold": 0.66}, "concurrency": 1, "timeout": 1000,
	  "limits": {"providers": {"openai": 4}, "servers": {"wiki": 2}},
	  "redactStoredResponses": false,
	  "results": {"store": {"type": "file", "dir": "out"}},
	  "servers": {
	    "wiki": {"transport": "http", "serverUrl": "https://h.test/eval", "auth": {"accessTokenEnv": "WIKI_TOKEN"}},
	    "calc": {"transport": "stdio", "command": "/bin/calc", "args": ["-v"], "inheritEnv": false, "minTools": 6}},
	  "variants": [
	    {"name": "all"},
	    {"name": "none", "servers": []},
	    {"name": "high", "servers": ["calc"], "clientOptions": {"reasoningEffort": "high"}},
	    {"name": "other", "client": "berth/client/codex", "inputTemplate": "Q: {{input}} ({{input}})"}],
	  "baseline": "high", "metrics": ["passed", "tool_count"], "pricing": {"m": {"input": 1, "output": 2}}
	}`, nil, ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type variant struct {
		Name, Client, Options string
		Servers               []string
	}
	var got []variant
	for _, v := range e.Variants {
		labels := []string{}
		for _, s := range v.Servers {
			labels = append(labels, s.Label)
		}
		got = append(got, variant{v.Name, v.Client, string(v.Options), labels})
	}
	want := []variant{
		{"all", "chatgpt", `{"reasoningEffort":"medium","requireMcpCalls":true,"timeout":1000}`, []string{"wiki", "calc"}},
		{"none", "chatgpt", `{"reasoningEffort":"medium","requireMcpCalls":true,"timeout":1000}`, []string{}},
		{"high", "chatgpt", `{"reasoningEffort":"high","requireMcpCalls":true,"timeout":1000}`, []string{"calc"}},
		{"other", "berth/client/codex", `{"timeout":1000}`, []string{"wiki", "calc"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	if p := e.Variants[3].Prompt("2+2"); p != "Q: 2+2 (2+2)" {
		t.Errorf("prompt %q", p)
	}
	if e.Baseline != "high" || e.Cases[0].Trials != 3 || e.Cases[0].PassThreshold != 0.66 || e.Config.Redact {
		t.Errorf("baseline %q, case %+v, redact %v", e.Baseline, e.Cases[0], e.Config.Redact)
	}
	wiki, calc := e.Variants[0].Servers[0], e.Variants[0].Servers[1]
	if wiki.AccessTokenEnv != "WIKI_TOKEN" || !wiki.NeedsToken() || calc.NeedsToken() || calc.MinTools != 6 || calc.Args[0] != "-v" {
		t.Errorf("servers %+v, %+v", wiki, calc)
	}
	if e.Config.ResultsDir != filepath.Join(e.Config.Dir, "out") {
		t.Errorf("results in %s", e.Config.ResultsDir)
	}
}

func TestDefaults(t *testing.T) {
	e, err := resolve(t, head+`}`, nil, ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := e.Variants[0]
	if v.Name != "default" || e.Baseline != "default" || string(v.Options) != `{"timeout":300000}` || !e.Config.Redact ||
		e.Cases[0].Trials != 1 || e.Cases[0].PassThreshold != 1 || e.Selection.Partial() {
		t.Errorf("got %+v, case %+v", v, e.Cases[0])
	}
}
