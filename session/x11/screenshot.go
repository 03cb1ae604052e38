package x11

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/jezek/xgb/xproto"
)

// stripe is the most that one GetImage asks for, in bytes: a server sends nothing else meanwhile.
const stripe = 1 << 20

// Screenshot gives the screen as it is now, all windows included and the pointer left out.
func (d *Display) Screenshot(ctx context.Context) (*image.NRGBA, error) {
	width, height := d.Size()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	return img, d.within(ctx, func() error {
		if err := d.checkFormat(); err != nil {
			return err
		}
		rows := max(1, stripe/(4*width))
		for y := 0; y < height; y += rows {
			if err := d.copyRows(img, y, min(rows, height-y)); err != nil {
				return err
			}
		}
		return nil
	})
}

// WritePNG writes a Screenshot.
func (d *Display) WritePNG(ctx context.Context, w io.Writer) error {
	img, err := d.Screenshot(ctx)
	if err != nil {
		return err
	}
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, img)
}

// checkFormat: pixels of 32 bits with 8 for each colour, as every display of 24 bits has them.
func (d *Display) checkFormat() error {
	for _, f := range d.setup.PixmapFormats {
		if f.Depth != d.screen.RootDepth {
			continue
		}
		if (f.Depth == 24 || f.Depth == 32) && f.BitsPerPixel == 32 {
			return nil
		}
		return fmt.Errorf("its depth is %d with %d bits a pixel, want 24 or 32 with 32", f.Depth, f.BitsPerPixel)
	}
	return errors.New("it names no format for its own depth")
}

func (d *Display) copyRows(img *image.NRGBA, y, rows int) error {
	width := img.Rect.Dx()
	reply, err := xproto.GetImage(d.conn, xproto.ImageFormatZPixmap, xproto.Drawable(d.screen.Root),
		0, int16(y), uint16(width), uint16(rows), ^uint32(0)).Reply()
	if err != nil {
		return err
	}
	src, dst := reply.Data, img.Pix[y*img.Stride:]
	if len(src) < 4*width*rows {
		return fmt.Errorf("an image of %d bytes, want %d", len(src), 4*width*rows)
	}
	// Blue, green, red and nothing, or the other way round.
	r, g, b := 2, 1, 0
	if d.setup.ImageByteOrder == xproto.ImageOrderMSBFirst {
		r, g, b = 1, 2, 3
	}
	for i := 0; i < 4*width*rows; i += 4 {
		dst[i], dst[i+1], dst[i+2], dst[i+3] = src[i+r], src[i+g], src[i+b], 0xff
	}
	return nil
}
