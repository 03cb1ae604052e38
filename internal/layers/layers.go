// Package layers holds the module to its import directions, so that `go test` does it where no
// linter is installed. The rules are those of .golangci.yml, read from there and judged by depguard,
// the linter that golangci-lint runs on them; this package has none of its own.
package layers

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/OpenPeeDeeP/depguard/v2"
	"github.com/gobwas/glob"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/analysis"
)

// ConfigFile is where the rules are, in the root of the module.
const ConfigFile = ".golangci.yml"

// Rule is one depguard rule of ConfigFile.
type Rule struct {
	ListMode string   `yaml:"list-mode"`
	Files    []string `yaml:"files"`
	Allow    []string `yaml:"allow"`
	Deny     []struct {
		Pkg  string `yaml:"pkg"`
		Desc string `yaml:"desc"`
	} `yaml:"deny"`
}

// Rules reads the rules of the module at root, by name.
func Rules(root string) (map[string]Rule, error) {
	raw, err := os.ReadFile(filepath.Join(root, ConfigFile))
	if err != nil {
		return nil, err
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]Rule `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", ConfigFile, err)
	}
	return config.Linters.Settings.Depguard.Rules, nil
}

// Check gives a line "file:line: import … is not allowed …" for every import of a Go file below root
// that breaks one of rules.
func Check(root string, rules map[string]Rule) ([]string, error) {
	analyzer, err := depguard.NewAnalyzer(settings(root, rules))
	if err != nil {
		return nil, err
	}
	var broken []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		found, err := checkFile(analyzer, root, path)
		broken = append(broken, found...)
		return err
	})
	return broken, err
}

func checkFile(a *analysis.Analyzer, root, path string) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var broken []string
	pass := &analysis.Pass{Analyzer: a, Fset: fset, Report: func(d analysis.Diagnostic) {
		rel, _ := filepath.Rel(root, path)
		broken = append(broken, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(rel), fset.Position(d.Pos).Line, d.Message))
	}}
	pass.Files = append(pass.Files, file)
	_, err = a.Run(pass)
	return broken, err
}

// settings are rules as depguard takes them, with golangci-lint's placeholder filled in.
func settings(root string, rules map[string]Rule) *depguard.LinterSettings {
	s, base := depguard.LinterSettings{}, glob.QuoteMeta(filepath.ToSlash(root))
	for name, r := range rules {
		list := &depguard.List{ListMode: r.ListMode, Allow: r.Allow, Deny: map[string]string{}}
		for _, f := range r.Files {
			list.Files = append(list.Files, strings.ReplaceAll(f, "${config-path}", base))
		}
		for _, d := range r.Deny {
			list.Deny[d.Pkg] = d.Desc
		}
		s[name] = list
	}
	return &s
}
