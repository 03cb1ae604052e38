package evalconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selection is what a user asks for beside the config; zero values don't.
type Selection struct {
	Variants []string `json:"variants,omitempty"`
	Cases    []string `json:"cases,omitempty"`
	// FilterTags keeps the cases that have one of them, instead of the config's own list.
	FilterTags []string `json:"filterTags,omitempty"`
	// MaxCases keeps the first that many cases of the run, instead of the config's number.
	MaxCases int `json:"maxCases,omitempty"`
	// Trials of every case, instead of the config's and the case's own number.
	Trials int `json:"trials,omitempty"`
}

// Partial tells whether the run is less than the whole eval, or else than it says: such a run
// doesn't become the latest.
func (s Selection) Partial() bool {
	return len(s.Variants)+len(s.Cases)+len(s.FilterTags)+s.MaxCases+s.Trials > 0
}

// ResolveOptions are what Resolve needs beside the config.
type ResolveOptions struct {
	Selection
	// RootDir is where relative dataset paths are looked for after the config's folder.
	RootDir string
	// NoGrade: judges may be configured, since they aren't needed.
	NoGrade bool
}

// Eval is what runs: variants with all they inherit, and the picked cases.
type Eval struct {
	Config   *Config
	All      []Variant // of the config, picked or not
	Variants []Variant // those picked; the baseline only when it was
	// Baseline is the variant that the others are compared with; "" when it wasn't picked.
	Baseline  string
	Datasets  []Dataset
	Cases     []Case // with Trials and PassThreshold filled in
	Selection Selection
	// ContentHash is the SHA-256 over the config and the datasets, hex.
	ContentHash string
}

// Resolve reads the datasets, checks everything that depends on more than one file or on the client,
// and picks. Nothing has been started or contacted when it fails.
func (cfg *Config) Resolve(o ResolveOptions) (*Eval, error) {
	e := &Eval{Config: cfg, Selection: o.Selection}
	var problems Problems
	c := &checker{file: cfg.file, problems: &problems}
	e.All = cfg.resolved()
	for i := range e.All {
		e.All[i].Options = c.client(cfg, &e.All[i])
	}
	datasets, err := cfg.LoadDatasets(o.RootDir)
	var ps Problems
	if err != nil && !errors.As(err, &ps) {
		return nil, err
	}
	problems = append(problems, ps...)
	e.Datasets = datasets
	e.ContentHash = cfg.contentHash(datasets)
	if !o.NoGrade {
		problems = append(problems, cfg.judgeProblems(datasets)...)
	}
	problems = append(problems, caseSettings(e.All, datasets)...)
	if err := problems.err(); err != nil {
		return nil, err
	}
	if o.NoGrade && cfg.Redact {
		return nil, &Problem{Place: Place{File: cfg.file.Name}, Kind: ErrInvalid,
			Msg: "--no-grade needs what redaction takes away; set redactStoredResponses to false"}
	}
	if e.Variants, err = pickVariants(e.All, o.Variants); err != nil {
		return nil, err
	}
	e.Baseline = baseline(cfg, e.All, e.Variants)
	e.Cases, err = cfg.pickCases(datasets, o.Selection)
	return e, err
}

func (cfg *Config) contentHash(ds []Dataset) string {
	hashes := []string{cfg.ContentHash}
	for _, d := range ds {
		hashes = append(hashes, d.ContentHash)
	}
	return sha256Hex([]byte(strings.Join(hashes, "\n")))
}

// judgeProblems is one problem however many judges there are: the first one's place says enough.
func (cfg *Config) judgeProblems(ds []Dataset) Problems {
	places := slices.Clone(cfg.judges)
	for _, d := range ds {
		for _, c := range d.Cases {
			places = append(places, c.judges...)
		}
	}
	if len(places) == 0 {
		return nil
	}
	return Problems{judgeProblem(places[0])}
}

// caseSettings finds cases that set a client, a model or options of their own: a batch is one
// variant's, and its cases share them.
func caseSettings(vs []Variant, ds []Dataset) Problems {
	var problems Problems
	for _, d := range ds {
		for _, c := range d.Cases {
			for i := range vs {
				if what := c.differs(&vs[i]); what != "" {
					problems = append(problems, &Problem{Place: c.Place, Kind: ErrUnsupported, Msg: fmt.Sprintf(
						"case %q sets another %s than variant %q; cases of a variant run in one session, so make a variant of it", c.ID, what, vs[i].Name)})
					break
				}
			}
		}
	}
	return problems
}

// differs names what c would have to run with other than v.
func (c *Case) differs(v *Variant) string {
	switch {
	case c.client != "" && strings.TrimPrefix(c.client, "mst/client/") != v.Client:
		return "client"
	case c.model != "" && c.model != v.Model:
		return "model"
	case c.clientOptions != nil && !within(c.clientOptions, v.Options):
		return "set of clientOptions"
	}
	return ""
}

// within tells whether every option is in all, with the same value.
func within(options, all json.RawMessage) bool {
	var want, have map[string]json.RawMessage
	if json.Unmarshal(options, &want) != nil || json.Unmarshal(all, &have) != nil {
		return false
	}
	for k, v := range want {
		if !bytes.Equal(have[k], v) {
			return false
		}
	}
	return true
}

// pickVariants keeps the file's order.
func pickVariants(all []Variant, names []string) ([]Variant, error) {
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, v := range all {
		known[i] = v.Name
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("%w: variant %s; the config has %s", ErrSelection, quoteNear(n, known), strings.Join(known, ", "))
		}
	}
	var picked []Variant
	for _, v := range all {
		if slices.Contains(names, v.Name) {
			picked = append(picked, v)
		}
	}
	return picked, nil
}

func baseline(cfg *Config, all, picked []Variant) string {
	name := cfg.Baseline
	if name == "" {
		name = all[0].Name
	}
	if slices.ContainsFunc(picked, func(v Variant) bool { return v.Name == name }) {
		return name
	}
	return ""
}

func (cfg *Config) pickCases(ds []Dataset, s Selection) ([]Case, error) {
	var all []Case
	for _, d := range ds {
		all = append(all, d.Cases...)
	}
	if err := casesExist(all, s.Cases); err != nil {
		return nil, err
	}
	tags := s.FilterTags
	if len(tags) == 0 {
		tags = cfg.Run.FilterTags
	}
	limit := s.MaxCases
	if limit == 0 && cfg.Run.MaxCases != nil {
		limit = *cfg.Run.MaxCases
	}
	var picked []Case
	for _, c := range all {
		if limit > 0 && len(picked) == limit {
			break
		}
		if wanted(&c, s.Cases, tags) {
			picked = append(picked, cfg.fill(c, s.Trials))
		}
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("%w: no case is left after --case and tags (%s)", ErrSelection, strings.Join(tags, ", "))
	}
	return picked, nil
}

func casesExist(all []Case, ids []string) error {
	known := make([]string, len(all))
	for i, c := range all {
		known[i] = c.ID
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return fmt.Errorf("%w: case %s", ErrSelection, quoteNear(id, known))
		}
	}
	return nil
}

func wanted(c *Case, ids, tags []string) bool {
	if len(ids) > 0 && !slices.Contains(ids, c.ID) {
		return false
	}
	return len(tags) == 0 || slices.ContainsFunc(c.Tags, func(t string) bool { return slices.Contains(tags, t) })
}

// fill gives the case its trials and threshold: the command line's, its own, the config's, 1.
func (cfg *Config) fill(c Case, trials int) Case {
	c.Trials, c.PassThreshold = 1, 1
	for _, t := range []*int{cfg.Run.Trials, c.trials} {
		if t != nil {
			c.Trials = *t
		}
	}
	if trials > 0 {
		c.Trials = trials
	}
	for _, t := range []*float64{cfg.Run.PassThreshold, c.threshold} {
		if t != nil {
			c.PassThreshold = *t
		}
	}
	return c
}
