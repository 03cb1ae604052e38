package evalconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of clients.
const (
	ClientMST        = "mst"
	ClientClaudeCode = "claude-code"
	ClientCowork     = "cowork"
	ClientChatGPT    = "chatgpt"
	ClientCodex      = "berth/client/codex"
)

// DefaultVariant is the one variant of a config that names none.
const DefaultVariant = "default"

// Config is an eval config as read, with every default applied that depends on nothing else.
type Config struct {
	// Path is the file's, Dir its folder: relative paths in it start there.
	Path, Dir string
	Name      string
	Datasets  []Source
	Servers   []Server // in the file's order
	Base      Settings
	Variants  []Variant // as declared; see Resolve
	Baseline  string
	Run       Controls
	Timeout   *int   // milliseconds; the default of client options of that name
	Provider  string // the same
	Limits    Limits
	Pricing   map[string]Price
	// Redact leaves answers and tool outputs out of what's stored. Default true.
	Redact bool
	// RequireEvalEndpoint: an http server's path must contain /eval.
	RequireEvalEndpoint bool
	// ResultsDir is an absolute folder from results.store, "" for none.
	ResultsDir string
	// ContentHash is the SHA-256 of the file, hex.
	ContentHash string

	file *file
	// judges are where judges are asked for: allowed only without grading.
	judges []Place
}

// Settings are what a variant may say, and the config as every variant's default.
type Settings struct {
	Client, Model string
	// ClientOptions is nil when not given.
	ClientOptions *Options
	ToolMap       map[string][]string
	Tools         json.RawMessage
	InputTemplate string

	tools, client, model *node
}

// Options are client options with their place.
type Options struct {
	Raw  json.RawMessage
	node *node
}

// Source is where cases come from.
type Source struct {
	Type      string // "file" or "dir"
	Path      string // as written
	Recursive bool
	place     Place
}

// Controls of a run; nil isn't set.
type Controls struct {
	Trials, MaxCases, Concurrency *int
	PassThreshold                 *float64
	FilterTags                    []string
	concurrency                   *node
}

// Limits are the most trials that run at once over all shards, by provider and by server label.
type Limits struct {
	Providers, Servers map[string]int
}

// Price is in US dollars per million tokens. Cache prices are nil when unknown.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite *float64
}

// maxFile bounds a config or dataset, in bytes.
const maxFile = 64 << 20

// Load reads an eval config. Its error is Problems, or says why the file can't be read.
func Load(path string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	cfg, err := parseConfig(path, data)
	if err != nil {
		return nil, err
	}
	cfg.Path, cfg.Dir = abs, filepath.Dir(abs)
	if cfg.ResultsDir != "" && !filepath.IsAbs(cfg.ResultsDir) {
		cfg.ResultsDir = filepath.Join(cfg.Dir, cfg.ResultsDir)
	}
	return cfg, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Problem{Place: Place{File: path}, Kind: ErrInvalid, Msg: "there is no such file"}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case info.IsDir():
		return nil, &Problem{Place: Place{File: path}, Kind: ErrInvalid, Msg: "is a folder; name the file"}
	case info.Size() > maxFile:
		return nil, &Problem{Place: Place{File: path}, Kind: ErrInvalid, Msg: fmt.Sprintf("is larger than %d MiB", maxFile>>20)}
	}
	return os.ReadFile(path)
}

func parseConfig(name string, data []byte) (*Config, error) {
	var problems Problems
	f := newFile(name, data)
	cfg := &Config{Redact: true, file: f, ContentHash: sha256Hex(data), Limits: Limits{map[string]int{}, map[string]int{}}}
	root, p := f.parse()
	if p != nil {
		return nil, Problems{p}
	}
	c := &checker{file: f, problems: &problems}
	c.config(root, cfg)
	c.variantsAgree(cfg)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}
