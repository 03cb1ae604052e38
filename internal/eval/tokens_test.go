package eval

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/redact"
)

const secret = "hunter2-hunter2"

func write(t *testing.T, body string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReadSecrets(t *testing.T) {
	tests := map[string]struct {
		body string
		want map[string]string
	}{
		"JSON":    {` {"A": "1", "B": "two words"}`, map[string]string{"A": "1", "B": "two words"}},
		"dotenv":  {"A=1\n\n# comment\nexport B=two words\n C = 3 \nD=\nE=a=b", map[string]string{"A": "1", "B": "two words", "C": "3", "D": "", "E": "a=b"}},
		"quotes":  {"A=\"x y\"\nB='z # z' # comment\nC=`q`\nD='open\nE=a#b\nF=a # b", map[string]string{"A": "x y", "B": "z # z", "C": "q", "D": "'open", "E": "a#b", "F": "a"}},
		"CRLF":    {"A=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}},
		"nothing": {"", map[string]string{}},
	}
	for name, tt := range tests {
		got, err := readSecrets(write(t, tt.body))
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

// TestBadSecrets: the error names the place, and never what is there.
func TestBadSecrets(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"JSON cut":       {`{"A": "` + secret, "isn't a JSON object of strings"},
		"JSON numbers":   {`{"` + secret + `": 1}`, "isn't a JSON object of strings"},
		"no assignment":  {"A=1\n" + secret, ":2: want NAME=value"},
		"name of words":  {secret + " x=1", ":1: want NAME=value"},
		"no name":        {"=" + secret, ":1: want NAME=value"},
		"line too long":  {"A=" + strings.Repeat(secret, 1<<17), "token too long"},
		"JSON with junk": {`{"A":"b"} ` + secret, "isn't a JSON object of strings"},
	} {
		_, err := readSecrets(write(t, tt.body))
		if !errors.Is(err, ErrSecrets) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want ErrSecrets with %q", name, err, tt.want)
		}
	}
}

const withServers = `{
	"name": "test", "datasets": ["./cases.json"], "client": "berth/client/codex", "model": "m",
	"servers": {
		"wiki":  { "transport": "http", "serverUrl": "https://wiki.test/mcp", "auth": { "accessTokenEnv": "WIKI_TOKEN" } },
		"open":  { "transport": "http", "serverUrl": "https://open.test/mcp" },
		"fixed": { "transport": "http", "serverUrl": "https://fixed.test/mcp", "auth": { "accessToken": "fixed-` + secret + `" } }
	}
}`

func TestServerTokens(t *testing.T) {
	e := evalconfigtest.Resolve(t, withServers, cases)
	tests := map[string]struct {
		env, file string
		want      string
		problem   string
	}{
		"environment":           {env: secret, want: secret},
		"JSON file":             {file: `{"WIKI_TOKEN": "` + secret + `"}`, want: secret},
		"dotenv file":           {file: "WIKI_TOKEN=" + secret, want: secret},
		"file over environment": {env: "another-" + secret, file: "WIKI_TOKEN=" + secret, want: secret},
		"file without it":       {env: secret, file: "OTHER=x", want: secret},
		"nowhere":               {problem: `server "wiki": its accessTokenEnv WIKI_TOKEN is not set`},
		"empty in the file":     {env: secret, file: "WIKI_TOKEN=", problem: "WIKI_TOKEN is not set"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WIKI_TOKEN", tt.env)
			file := ""
			if tt.file != "" {
				file = write(t, tt.file)
			}
			secrets := &redact.Set{}
			tokens, err := newServerTokens(e, file, secrets)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), secret) {
					t.Errorf("got %v, want %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := tokens.Token(t.Context(), "wiki")
			if err != nil || got.AccessToken != tt.want {
				t.Errorf("got %q, %v", got.AccessToken, err)
			}
			if fixed, err := tokens.Token(t.Context(), "fixed"); err != nil || fixed.AccessToken != "fixed-"+secret {
				t.Errorf("fixed: %q, %v", fixed.AccessToken, err)
			}
			for _, label := range []string{"open", "none"} {
				if got, err := tokens.Token(t.Context(), label); err == nil {
					t.Errorf("server %s has token %q", label, got.AccessToken)
				}
			}
			if text := secrets.String("it is " + secret + " and fixed-" + secret); strings.Contains(text, "hunter2") {
				t.Errorf("not redacted: %s", text)
			}
		})
	}
}
