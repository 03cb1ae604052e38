package cause

import (
	"image"
	"image/color"

	"github.com/berth-run/berth/session/atspi"
)

// grid is how far apart the points are that are looked at: finer than any line of text.
const grid = 4

// plain tells whether an area of a picture is of one colour, but for its edge.
func plain(img image.Image, area *atspi.Rect) bool {
	in := img.Bounds()
	if area != nil {
		in = in.Intersect(image.Rect(int(area.X), int(area.Y), int(area.X+area.Width), int(area.Y+area.Height)))
	}
	in = in.Inset(2 * grid)
	if in.Empty() {
		return false
	}
	var first color.Color
	for y := in.Min.Y; y < in.Max.Y; y += grid {
		for x := in.Min.X; x < in.Max.X; x += grid {
			switch c := img.At(x, y); first {
			case nil:
				first = c
			case c:
			default:
				return false
			}
		}
	}
	return true
}
