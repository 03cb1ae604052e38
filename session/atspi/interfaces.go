package atspi

import "strings"

// Interfaces is the set of AT-SPI interfaces that an object has, of those that this package uses.
type Interfaces uint16

// The interfaces.
const (
	HasAction Interfaces = 1 << iota
	HasComponent
	HasText
	HasEditableText
	HasHypertext
	HasHyperlink
	HasCollection
	HasApplication
)

var interfaceBits = map[string]Interfaces{
	"Action": HasAction, "Component": HasComponent, "Text": HasText, "EditableText": HasEditableText,
	"Hypertext": HasHypertext, "Hyperlink": HasHyperlink, "Collection": HasCollection,
	"Application": HasApplication,
}

// Has tells whether all of want are in i.
func (i Interfaces) Has(want Interfaces) bool { return i&want == want }

func interfaces(names []string) Interfaces {
	var set Interfaces
	for _, name := range names {
		set |= interfaceBits[strings.TrimPrefix(name, "org.a11y.atspi.")]
	}
	return set
}
