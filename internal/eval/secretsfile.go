package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// readSecrets takes a JSON object of strings, or lines of NAME=value as in a dotenv file.
func readSecrets(path string) (map[string]string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecrets, err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		var env map[string]string
		if json.Unmarshal(body, &env) != nil { // its error could quote a secret
			return nil, fmt.Errorf("%w %s: it isn't a JSON object of strings", ErrSecrets, path)
		}
		return env, nil
	}
	return dotenv(path, body)
}

func dotenv(path string, body []byte) (map[string]string, error) {
	env := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%w %s:%d: want NAME=value", ErrSecrets, path, n)
		}
		env[name] = unquote(strings.TrimSpace(value))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSecrets, path, err)
	}
	return env, nil
}

// unquote takes a value's quotes away, or the comment behind one that has none.
func unquote(v string) string {
	for _, q := range []string{`"`, "'", "`"} {
		if inner, ok := strings.CutPrefix(v, q); ok {
			if value, _, closed := strings.Cut(inner, q); closed {
				return value
			}
		}
	}
	v, _, _ = strings.Cut(v, " #")
	return strings.TrimSpace(v)
}
