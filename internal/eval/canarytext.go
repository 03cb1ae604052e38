package eval

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// WriteText tells what was found, screen by screen, and what is lost at the end.
func (c *Canary) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "App:    %s\n", c.name())
	fmt.Fprintf(w, "Table:  %s\n\n", c.table())
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "SCREEN\tCONTROL\tLABEL\tFOUND")
	for _, s := range c.Screens {
		for _, l := range s.Labels {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Screen, l.Role, strings.TrimSpace(l.Label), fate(s, l))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", c.verdict())
	return err
}

func (c *Canary) name() string {
	if c.App == "" {
		return "not told by image " + c.Image
	}
	return c.App + " " + c.Version
}

func (c *Canary) table() string {
	if c.Inspection.App == "" {
		return "none: no app that is known was found"
	}
	return fmt.Sprintf("%s, seen on %s", c.Inspection.App, strings.Join(c.Versions, ", "))
}

func fate(s driver.ScreenSeen, l driver.LabelSeen) string {
	switch {
	case l.Seen:
		return "yes"
	case l.Lost && l.Instead != "":
		return fmt.Sprintf("NO; perhaps now %q", l.Instead)
	case l.Lost:
		return "NO"
	case s.Seen:
		return "not looked for"
	}
	return "screen not shown"
}

// verdict is one line on all of it.
func (c *Canary) verdict() string {
	var lost []string
	for _, l := range c.Lost() {
		lost = append(lost, fmt.Sprintf("%q", strings.TrimSpace(l.Label)))
	}
	text := "All that was shown is as the table has it."
	if len(lost) > 0 {
		text = fmt.Sprintf("No longer found: %s.", strings.Join(lost, ", "))
	}
	if !c.Ready {
		text += " It didn't come to the composer: " + c.Error
		if len(c.Strangers) > 0 {
			text += "; on screen, and not in the table: " + strings.Join(c.Strangers, ", ")
		}
		text += "."
	}
	return text
}
