package atspi

import (
	"context"
	"slices"
	"strings"
)

// marker stands in a text for an object that is embedded there, such as a composer's paragraph.
const marker = '\uFFFC'

// Text reads a node's text with what is embedded in it, however deep. Embedded blocks, such as
// paragraphs, are lines of their own, without the line break that an empty one is filled with. It fails
// with ErrText rather than give a part: over the budget, or when something embedded can't be read.
//
// A document that has no text of its own, such as LibreOffice's, is the lines of its paragraphs, of those
// that the app shows.
func (a *App) Text(ctx context.Context, n *Node) (string, error) {
	r := &textReader{bus: a.bus}
	read := r.read
	if n.Role == RoleDocumentText && !n.Interfaces.Has(HasText) {
		read = r.paragraphs
	}
	text, err := read(ctx, n.Ref, 0)
	if err != nil && ctx.Err() != nil {
		return "", late(ctx, "a text")
	}
	if replied(err) {
		err = fail(ErrText, "%v %q: %w", n.Role, n.Name, err)
	}
	return text, judge(err)
}

// Embedded counts the objects that are embedded in a node's text, at the first level.
func (a *App) Embedded(ctx context.Context, n *Node) (int, error) {
	text, err := a.bus.textOf(ctx, n.Ref)
	if err != nil {
		return 0, a.judge(ctx, err)
	}
	return strings.Count(text, string(marker)), nil
}

// textOf is an object's own text. To GTK 4's one-line entries -1 isn't the end but nothing: they are asked
// again, for as many characters as they say they have.
func (b *Bus) textOf(ctx context.Context, ref Ref) (text string, err error) {
	if err := b.call(ctx, method(ref, "Text.GetText", int32(0), int32(-1)), &text); err != nil || text != "" {
		return text, err
	}
	var count int32
	err = b.call(ctx, property(ref, "Text.CharacterCount"), &count)
	switch {
	case replied(err): // it tells none
		return "", nil
	case err != nil || count == 0:
		return "", err
	}
	err = b.call(ctx, method(ref, "Text.GetText", int32(0), count), &text)
	return text, err
}

type textReader struct {
	bus            *Bus
	objects, bytes int
}

func (r *textReader) read(ctx context.Context, ref Ref, depth int) (string, error) {
	if r.objects++; r.objects > maxObjects || depth > maxDepth {
		return "", fail(ErrText, "more than %d embedded objects, or %d levels of them", maxObjects, maxDepth)
	}
	text, err := r.bus.textOf(ctx, ref)
	if err != nil {
		return "", err
	}
	if r.bytes += len(text); r.bytes > maxText {
		return "", fail(ErrText, "more than %d bytes", maxText)
	}
	if !strings.ContainsRune(text, marker) {
		return text, nil
	}
	embedded, err := r.embedded(ctx, ref, text)
	if err != nil {
		return "", err
	}
	return r.expand(ctx, text, embedded, depth)
}

// paragraphs reads what is below a document.
func (r *textReader) paragraphs(ctx context.Context, ref Ref, depth int) (string, error) {
	var children []Ref
	if err := r.bus.call(ctx, method(ref, "Accessible.GetChildren"), &children); err != nil {
		return "", err
	}
	texts := make([]string, len(children))
	for i, c := range children {
		var err error
		if texts[i], err = r.read(ctx, c, depth+1); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, "\n"), nil
}

// expand puts the embedded objects' texts in the markers' places.
func (r *textReader) expand(ctx context.Context, text string, embedded []Ref, depth int) (string, error) {
	var out lines
	for _, c := range text {
		if c != marker {
			out.rune(c)
			continue
		}
		ref := embedded[0]
		if embedded = embedded[1:]; ref.none() {
			out.rune(c) // somebody wrote a marker
			continue
		}
		inner, err := r.read(ctx, ref, depth+1)
		if err != nil {
			return "", err
		}
		var role uint32
		if err := r.bus.call(ctx, method(ref, "Accessible.GetRole"), &role); err != nil {
			return "", err
		}
		if slices.Contains(blocks, Role(role)) {
			out.block(inner)
		} else {
			out.inline(inner)
		}
	}
	return out.String(), nil
}

// blocks are the roles that stand on lines of their own in a text.
var blocks = []Role{
	RoleParagraph, RoleHeading, RoleSection, RoleBlockQuote, RoleArticle, RolePanel, RoleForm,
	RoleLandmark, RoleGrouping, RoleList, RoleListItem, RoleDescriptionList, RoleDescriptionTerm,
	RoleDescriptionValue, RoleDefinition, RoleCaption, RoleTable, RoleTableRow, RoleFootnote,
}

// lines joins text and blocks, with a line break on both sides of a block.
type lines struct {
	strings.Builder
	afterBlock bool
}

func (l *lines) rune(r rune) { l.inline(string(r)) }

func (l *lines) inline(text string) {
	if text == "" {
		return
	}
	if l.afterBlock {
		l.WriteByte('\n')
	}
	l.afterBlock = false
	l.WriteString(text)
}

func (l *lines) block(text string) {
	if l.afterBlock || l.Len() > 0 {
		l.WriteByte('\n')
	}
	l.afterBlock = true
	l.WriteString(strings.TrimSuffix(text, "\n"))
}

// embedded finds the object of each marker in text, a null Ref where there is none.
func (r *textReader) embedded(ctx context.Context, ref Ref, text string) ([]Ref, error) {
	var requests []request
	offset := int32(0)
	for _, c := range text {
		if c == marker {
			requests = append(requests, method(ref, "Hypertext.GetLinkIndex", offset))
		}
		offset++
	}
	if r.objects+len(requests) > maxObjects {
		return nil, fail(ErrText, "%d embedded objects (at most %d in all)", len(requests), maxObjects)
	}
	refs := make([]Ref, len(requests))
	for i, call := range r.bus.callAll(ctx, requests) {
		var link int32
		if err := call.Store(&link); replied(err) && len(requests) == 1 {
			return r.onlyChild(ctx, ref)
		} else if err != nil {
			return nil, err
		}
		if link < 0 {
			continue
		}
		if err := r.link(ctx, ref, link, &refs[i]); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// link finds the object behind a link of ref.
func (r *textReader) link(ctx context.Context, ref Ref, index int32, object *Ref) error {
	var link Ref
	if err := r.bus.call(ctx, method(ref, "Hypertext.GetLink", index), &link); err != nil {
		return err
	}
	return r.bus.call(ctx, method(link, "Hyperlink.GetObject", int32(0)), object)
}

// onlyChild stands for the only marker of an object that knows of no links.
func (r *textReader) onlyChild(ctx context.Context, ref Ref) ([]Ref, error) {
	var children []Ref
	if err := r.bus.call(ctx, method(ref, "Accessible.GetChildren"), &children); err != nil {
		return nil, err
	}
	if len(children) != 1 {
		return nil, fail(ErrText, "one embedded object and %d children", len(children))
	}
	return children, nil
}
