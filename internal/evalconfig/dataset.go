package evalconfig

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-run/berth/internal/grade"
)

// Dataset is the cases of one entry of datasets.
type Dataset struct {
	Name, Description string
	// Type is "file" or "dir".
	Type  string
	Cases []Case
	// ContentHash is the SHA-256 over its files, hex.
	ContentHash string
}

// Case is one prompt with what's expected of it.
type Case struct {
	ID, Input, Description string
	Dataset                string
	Tags                   []string
	Assertions             grade.Assertions
	// Trials and PassThreshold are as declared until Resolve, which fills them in.
	Trials        int
	PassThreshold float64
	Place         Place

	client, model string
	clientOptions json.RawMessage
	trials        *int
	threshold     *float64
	judges        []Place
}

// LoadDatasets reads every dataset of the config. Relative paths start at the config's folder, then
// at rootDir ("" for the working directory). Case ids must differ over all of them, whatever their
// case, since they name files.
func (cfg *Config) LoadDatasets(rootDir string) ([]Dataset, error) {
	var problems Problems
	var out []Dataset
	for _, s := range cfg.Datasets {
		d, err := s.load(cfg.Dir, rootDir)
		var ps Problems
		var p *Problem
		switch {
		case errors.As(err, &ps):
			problems = append(problems, ps...)
		case errors.As(err, &p):
			problems = append(problems, p)
		case err != nil:
			return nil, err
		}
		out = append(out, d)
	}
	problems = append(problems, sameIDs(out)...)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return out, nil
}

func (s Source) load(dir, rootDir string) (Dataset, error) {
	path := s.find(dir, rootDir)
	if s.Type == "dir" {
		return s.loadDir(path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Dataset{}, &Problem{Place: s.place, Kind: ErrInvalid, Msg: "dataset " + s.Path + " doesn't exist; paths are relative to this file"}
	}
	return loadFile(path)
}

// find is the first place where the path exists, or else where it should.
func (s Source) find(dir, rootDir string) string {
	if filepath.IsAbs(s.Path) {
		return s.Path
	}
	first, second := filepath.Join(dir, s.Path), filepath.Join(rootDir, s.Path)
	if _, err := os.Stat(first); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(second); err == nil {
			return second
		}
	}
	return first
}

func loadFile(path string) (Dataset, error) {
	data, err := readFile(path)
	if err != nil {
		return Dataset{}, err
	}
	return parseDataset(path, data)
}

// loadDir reads every .json file of a folder as a dataset and puts their cases, in the order of
// their paths, into one that is named after the folder.
func (s Source) loadDir(path string) (Dataset, error) {
	d := Dataset{Name: filepath.Base(filepath.Clean(path)), Type: "dir"}
	files, err := s.jsonFiles(path)
	if err != nil {
		return d, err
	}
	var problems Problems
	hashes := ""
	for _, f := range files {
		one, err := loadFile(f)
		var ps Problems
		switch {
		case errors.As(err, &ps):
			problems = append(problems, ps...)
			continue
		case err != nil:
			return d, err
		}
		hashes += one.ContentHash
		for _, c := range one.Cases {
			c.Dataset = d.Name
			d.Cases = append(d.Cases, c)
		}
	}
	d.ContentHash = sha256Hex([]byte(hashes))
	return d, problems.err()
}

func (s Source) jsonFiles(path string) ([]string, error) {
	var files []string
	path += string(filepath.Separator) // the folder behind a link, too
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != path && !s.Recursive:
			return fs.SkipDir
		case !e.IsDir() && filepath.Ext(p) == ".json":
			files = append(files, p)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Problem{Place: s.place, Kind: ErrInvalid, Msg: "dataset folder " + s.Path + " doesn't exist; paths are relative to this file"}
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, &Problem{Place: s.place, Kind: ErrInvalid, Msg: "dataset folder " + s.Path + " has no .json file"}
	}
	return files, nil
}

// sameIDs finds cases whose ids differ at most in upper and lower case.
func sameIDs(ds []Dataset) Problems {
	var problems Problems
	first := map[string]Case{}
	for _, d := range ds {
		for _, c := range d.Cases {
			key := strings.ToLower(c.ID)
			if f, ok := first[key]; ok {
				problems = append(problems, &Problem{Place: c.Place, Kind: ErrInvalid,
					Msg: "case id " + quote(c.ID) + " is taken by " + quote(f.ID) + " at " + f.Place.String() + "; ids name files, so make them differ by more than case"})
				continue
			}
			first[key] = c
		}
	}
	return problems
}
