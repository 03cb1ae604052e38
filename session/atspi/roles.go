package atspi

import "fmt"

// Role is what an object is, by AT-SPI's own number (AtspiRole in atspi-constants.h). Numbers are never
// reused, while names change: number 43 was "push button" up to at-spi2-core 2.52 and is "button" since.
type Role uint32

// Roles that drivers look for.
const (
	RoleAlert            Role = 2
	RoleCheckBox         Role = 7
	RoleComboBox         Role = 11
	RoleDialog           Role = 16
	RoleFrame            Role = 23
	RoleIcon             Role = 26
	RoleImage            Role = 27
	RoleLabel            Role = 29
	RoleList             Role = 31
	RoleListItem         Role = 32
	RoleMenu             Role = 33
	RoleMenuBar          Role = 34
	RoleMenuItem         Role = 35
	RolePageTab          Role = 37
	RolePanel            Role = 39
	RolePasswordText     Role = 40
	RolePopupMenu        Role = 41
	RoleProgressBar      Role = 42
	RoleButton           Role = 43
	RoleRadioButton      Role = 44
	RoleSlider           Role = 51
	RoleSpinButton       Role = 52
	RoleTable            Role = 55
	RoleTableCell        Role = 56
	RoleText             Role = 61
	RoleToggleButton     Role = 62
	RoleToolBar          Role = 63
	RoleTree             Role = 65
	RoleWindow           Role = 69
	RoleHeader           Role = 71
	RoleFooter           Role = 72
	RoleParagraph        Role = 73
	RoleApplication      Role = 75
	RoleEditbar          Role = 77
	RoleEntry            Role = 79
	RoleCaption          Role = 81
	RoleDocumentFrame    Role = 82
	RoleHeading          Role = 83
	RoleSection          Role = 85
	RoleForm             Role = 87
	RoleLink             Role = 88
	RoleTableRow         Role = 90
	RoleTreeItem         Role = 91
	RoleDocumentText     Role = 94
	RoleDocumentWeb      Role = 95
	RoleListBox          Role = 98
	RoleGrouping         Role = 99
	RoleNotification     Role = 101
	RoleBlockQuote       Role = 105
	RoleDefinition       Role = 108
	RoleArticle          Role = 109
	RoleLandmark         Role = 110
	RoleLog              Role = 111
	RoleStatic           Role = 116
	RoleDescriptionList  Role = 121
	RoleDescriptionTerm  Role = 122
	RoleDescriptionValue Role = 123
	RoleFootnote         Role = 124
)

// String is the role's name as of at-spi2-core 2.58.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint32(r))
}

// roleNames are all names in the order of their numbers.
var roleNames = [...]string{
	"invalid", "accelerator label", "alert", "animation", "arrow", "calendar", "canvas", "check box",
	"check menu item", "color chooser", "column header", "combo box", "date editor", "desktop icon",
	"desktop frame", "dial", "dialog", "directory pane", "drawing area", "file chooser", "filler",
	"focus traversable", "font chooser", "frame", "glass pane", "html container", "icon", "image",
	"internal frame", "label", "layered pane", "list", "list item", "menu", "menu bar", "menu item",
	"option pane", "page tab", "page tab list", "panel", "password text", "popup menu", "progress bar",
	"button", "radio button", "radio menu item", "root pane", "row header", "scroll bar", "scroll pane",
	"separator", "slider", "spin button", "split pane", "status bar", "table", "table cell",
	"table column header", "table row header", "tearoff menu item", "terminal", "text", "toggle button",
	"tool bar", "tool tip", "tree", "tree table", "unknown", "viewport", "window", "extended", "header",
	"footer", "paragraph", "ruler", "application", "autocomplete", "editbar", "embedded", "entry", "chart",
	"caption", "document frame", "heading", "page", "section", "redundant object", "form", "link",
	"input method window", "table row", "tree item", "document spreadsheet", "document presentation",
	"document text", "document web", "document email", "comment", "list box", "grouping", "image map",
	"notification", "info bar", "level bar", "title bar", "block quote", "audio", "video", "definition",
	"article", "landmark", "log", "marquee", "math", "rating", "timer", "static", "math fraction",
	"math root", "subscript", "superscript", "description list", "description term", "description value",
	"footnote", "content deletion", "content insertion", "mark", "suggestion", "push button menu", "switch",
}
