package evalconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/internal/jsonpos"
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

	file *jsonpos.Document
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

	tools, client, model *jsonpos.Node
}

// Options are client options with their place.
type Options struct {
	Raw  json.RawMessage
	node *jsonpos.Node
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
	concurrency                   *jsonpos.Node
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

// parse reads a file's JSON; its error is Problems.
func parse(name string, data []byte) (*jsonpos.Document, error) {
	doc, err := jsonpos.Parse(name, data)
	if e, ok := errors.AsType[*jsonpos.Error](err); ok {
		return nil, Problems{{Place: e.Place, Kind: ErrInvalid, Msg: e.Msg}}
	}
	return doc, err
}

func parseConfig(name string, data []byte) (*Config, error) {
	doc, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	var problems Problems
	cfg := &Config{Redact: true, file: doc, ContentHash: sha256Hex(data), Limits: Limits{map[string]int{}, map[string]int{}}}
	c := &checker{file: doc, problems: &problems}
	c.config(doc.Root, cfg)
	c.variantsAgree(cfg)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}
