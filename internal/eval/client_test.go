package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/evalconfig"
)

func TestImageClient(t *testing.T) {
	const codex, chatgpt = evalconfig.ClientCodex, evalconfig.ClientChatGPT
	tests := map[string]struct {
		clients []string
		want    string
		err     string
	}{
		"codex":             {[]string{codex, codex}, "codex", ""},
		"the app":           {[]string{chatgpt}, "chatgpt", ""},
		"both":              {[]string{codex, chatgpt}, "chatgpt", ""},
		"both, turned":      {[]string{chatgpt, codex}, "chatgpt", ""},
		"one that isn't":    {[]string{chatgpt, "cowork"}, "", `variant "b" uses client "cowork"; berth can run berth/client/codex, chatgpt`},
		"no variant at all": {nil, "", "no variant"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := &evalconfig.Eval{}
			for i, c := range tt.clients {
				v := evalconfig.Variant{Name: string(rune('a' + i))}
				v.Client = c
				e.All = append(e.All, v)
			}
			got, err := imageClient(e)
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			case tt.err != "" && (!errors.Is(err, ErrClient) || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %v, want ErrClient with %q", err, tt.err)
			}
		})
	}
}
