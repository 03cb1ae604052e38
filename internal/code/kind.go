package code

import "slices"

// Kind is the failureKind of a trial that ended with c, "" for none. sent tells whether its prompt was.
func (c Code) Kind(sent bool) Code {
	switch {
	case c == "" || slices.Contains(Kinds, c):
		return c
	case c == ActionAcknowledgementUncertain, !sent && c.submitting():
		return SubmissionFailed
	case sent, c == Cancelled:
		return ClientRunFailed
	}
	return AppUnavailable
}

// submitting tells the codes of a prompt on its way into an app that was ready for it.
func (c Code) submitting() bool {
	switch c {
	case PromptInvalid, PromptTooLarge, URLHandoffFailed, URLHandoffUnverified, SignInRequired, PermissionRequired:
		return true
	}
	return slices.Contains(driving, c)
}
