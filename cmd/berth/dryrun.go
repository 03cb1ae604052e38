package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/berth-run/berth/internal/evalconfig"
)

// planned is what --dry-run prints, as mst does.
type planned struct {
	Name      string                `json:"name"`
	OutputDir string                `json:"outputDir"`
	Datasets  []plannedDataset      `json:"datasets"`
	Variants  []string              `json:"variants"`
	Partial   bool                  `json:"partial"`
	Selection *evalconfig.Selection `json:"selection,omitempty"`
}

type plannedDataset struct {
	Name  string `json:"name"`
	Cases int    `json:"cases"`
}

func printPlan(w io.Writer, e *evalconfig.Eval, dir string) error {
	p := planned{Name: e.Config.Name, OutputDir: dir, Partial: e.Selection.Partial()}
	for _, d := range e.Datasets {
		p.Datasets = append(p.Datasets, plannedDataset{d.Name, len(d.Cases)})
	}
	for i := range e.Variants {
		p.Variants = append(p.Variants, e.Variants[i].Name)
	}
	if p.Partial {
		p.Selection = &e.Selection
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(b))
	return err
}
