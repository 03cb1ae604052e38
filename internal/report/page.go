package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"path/filepath"

	"github.com/berth-run/berth/internal/results"
)

//go:embed page.gohtml
var pageText string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// pageTemplate escapes by context; only our own style and script go in as they are.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(pageCSS) },
	"script": func() template.JS { return template.JS(pageJS) },
}).Parse(pageText))

// Write makes report/index.html and report/data.js in the run's folder and gives the page's path.
// The page loads nothing from elsewhere.
func Write(f *results.Finished) (string, error) {
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, newPage(f)); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	data, err := dataJS(f)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(f.Dir, "report")
	if err := results.WriteFile(filepath.Join(dir, "data.js"), data); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "index.html")
	return path, results.WriteFile(path, html.Bytes())
}

// dataJS is the run for scripts. encoding/json writes <, > and & as escapes, so no value can end the
// script.
func dataJS(f *results.Finished) ([]byte, error) {
	raw, err := json.Marshal(map[string]any{"run": f.Record, "summary": f.Summary, "cases": f.Cases})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(append([]byte("window.BERTH_RUN = "), raw...), ";\n"...), nil
}
