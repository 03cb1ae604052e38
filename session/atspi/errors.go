package atspi

import (
	"errors"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
)

// Causes, for errors.Is. What is returned carries a detail with them.
var (
	// ErrHangs: an app didn't answer a call for callTimeout.
	ErrHangs = errors.New("the app doesn't answer")
	// ErrRefused: an app was asked for an action and said that it didn't do it.
	ErrRefused = errors.New("the app refused")
	// ErrGone: the app left the accessibility bus.
	ErrGone = &code.Error{Code: code.AppExited}
	// ErrBus: the app or the bus answered with an error, also when asked again.
	ErrBus = &code.Error{Code: code.DesktopGLibError}
	// ErrDeadline: what was waited for didn't come in time.
	ErrDeadline = &code.Error{Code: code.DeadlineExceeded}
	// ErrNotEnabled: a window is there and publishes nothing of what it shows.
	ErrNotEnabled = &code.Error{Code: code.A11yNotEnabled}
	// ErrAppAmbiguous: several apps answer to one identity.
	ErrAppAmbiguous = &code.Error{Code: code.DesktopAmbiguous}
	// ErrTreeBudget: the tree, or the desktop, is larger than a driver may look at.
	ErrTreeBudget = &code.Error{Code: code.AccessibilityTreeBudget}
	// ErrEventBudget: more events came than are kept, so some are lost.
	ErrEventBudget = &code.Error{Code: code.AccessibilityEventBudget}
	// ErrNotOne: there is no such control or action, or there are several.
	ErrNotOne = &code.Error{Code: code.ActionMissingOrAmbiguous}
	// ErrUnavailable: the control can't be acted on, or refused. Nothing was done.
	ErrUnavailable = &code.Error{Code: code.ActionUnavailable}
	// ErrUncertain: an action was asked for, and whether it was done isn't known. Don't repeat it.
	ErrUncertain = &code.Error{Code: code.ActionAcknowledgementUncertain}
	// ErrText: a text can't be read whole.
	ErrText = &code.Error{Code: code.ComposerTextUnavailable}
	// ErrUnobserved: what was done isn't to be seen on screen.
	ErrUnobserved = &code.Error{Code: code.StateTransitionUnobserved}
	// ErrInput: a text that can't be typed.
	ErrInput = &code.Error{Code: code.InvalidInput}
	// ErrTooLarge: a text over the budget.
	ErrTooLarge = &code.Error{Code: code.InputTooLarge}
)

// fail adds a detail to a cause; an error among args that %w names is wrapped.
func fail(cause *code.Error, format string, args ...any) error {
	return code.Errorf(cause.Code, format, args...)
}

// judge gives an error of the bus its code.
func judge(err error) error {
	switch {
	case err == nil || code.Of(err) != "":
		return err
	case errors.Is(err, dbus.ErrClosed):
		return errBusEnded()
	case gone(err):
		return fail(ErrGone, "the app left the accessibility bus: %w", err)
	case errors.Is(err, ErrHangs):
		return fail(ErrDeadline, "%w", err)
	case replied(err):
		return fail(ErrBus, "%w", err)
	}
	return err
}
