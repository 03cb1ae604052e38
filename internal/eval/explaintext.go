package eval

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/withhold"
)

// WriteText tells one trial: what became of it, what is there, and the likely cause.
func (e Explained) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "Trial:   %s %s #%d of run %s\n", e.Variant, e.CaseID, e.Trial, e.RunID)
	fmt.Fprintf(w, "Outcome: %s\n", e.outcome())
	if e.Cause != nil {
		fmt.Fprintf(w, "Likely:  %s\n", code.Line(e.Cause.Sentence))
	}
	if len(e.Files) == 0 {
		_, err := fmt.Fprintln(w, "Files:   none came home")
		return err
	}
	fmt.Fprintf(w, "Files:   in %s\n", e.Dir)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range e.Files {
		fmt.Fprintf(t, "  %s\t%d bytes\t%s\n", code.Line(e.place(a)), a.Bytes, e.state(a))
	}
	return t.Flush()
}

func (e Explained) outcome() string {
	if !e.Failed {
		return "the trial itself didn't fail"
	}
	sent := "not sent"
	if e.Submitted {
		sent = "sent"
	}
	return fmt.Sprintf("%s: %s (the prompt was %s)", e.FailureCode, code.Line(e.Error), sent)
}

func (e Explained) place(a results.Artifact) string {
	if a.Path == "" {
		return filepath.Base(a.Name)
	}
	return a.Path
}

func (e Explained) state(a results.Artifact) string {
	switch {
	case a.State == results.ArtifactMissing:
		return "missing"
	case a.State == results.ArtifactChanged && e.Redacted && withhold.Responses(filepath.Base(a.Name)) != nil:
		return "without what was answered: redactStoredResponses"
	case a.State == results.ArtifactChanged:
		return "changed since it was kept: secrets were taken out at home, or it was edited"
	}
	return ""
}

// WriteExplained tells trials one by one.
func WriteExplained(w io.Writer, all []Explained) error {
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := e.WriteText(w); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no trial of the run failed by itself; name a case to see what is there of it")
		return err
	}
	return nil
}
