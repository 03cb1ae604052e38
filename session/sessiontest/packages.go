package sessiontest

// Packages are the Debian packages, besides the desktop's own, that have what tests of a session drive
// and compare with: apps that nobody here wrote. An image that the tests run in has them.
var Packages = []string{
	"zenity",                                 // GTK
	"featherpad",                             // Qt
	"libreoffice-writer", "libreoffice-gtk3", // the second makes the first accessible
	"chromium",
	"xclip", "libsecret-tools", "gcr",
}
