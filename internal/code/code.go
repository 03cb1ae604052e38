// Package code is the closed set of failure codes that a trial, a shard or a run can end with. The
// codes of the eval contract are kept to the letter, since users' scripts match on them; the few
// that are berth's own are at the end.
package code

import (
	"errors"
	"fmt"
	"strings"
)

// Code names one cause of failure, in snake_case, stable across releases.
type Code string

// Set-up of a client: nothing has been sent yet.
const (
	LinuxRequired            Code = "linux_required"
	EnvironmentInvalid       Code = "environment_invalid"
	HomeNotFresh             Code = "home_not_fresh"
	HomeUnsafe               Code = "home_unsafe"
	WorkspaceUnsafe          Code = "workspace_unsafe"
	EvidenceDirUnsafe        Code = "evidence_dir_unsafe"
	AppPathInvalid           Code = "app_path_invalid"
	CodexPathInvalid         Code = "codex_path_invalid"
	APIKeyFileUnsafe         Code = "api_key_file_unsafe"
	APIKeyInvalid            Code = "api_key_invalid"
	LoginFailed              Code = "login_failed"
	LoginTimeout             Code = "login_timeout"
	LoginUnverified          Code = "login_unverified"
	MCPPreflightFailed       Code = "mcp_preflight_failed"
	MCPStatusUnavailable     Code = "mcp_status_unavailable"
	MCPServerNotReady        Code = "mcp_server_not_ready"
	HostToolPolicyUnenforced Code = "host_tool_policy_unenforced"
	AppStartFailed           Code = "app_start_failed"
	AppExited                Code = "app_exited"
	AppStopFailed            Code = "app_stop_failed"
	AppNotRunning            Code = "app_not_running"
	PromptInvalid            Code = "prompt_invalid"
	PromptTooLarge           Code = "prompt_too_large"
	URLHandoffFailed         Code = "url_handoff_failed"
	URLHandoffUnverified     Code = "url_handoff_unverified"
	PluginSetupFailed        Code = "plugin_setup_failed"
	InferenceUnavailable     Code = "inference_unavailable"
)

// What kind of failure it was, for those that have no code of their own; see Kinds.
const (
	SubmissionFailed         Code = "submission_failed"
	AppUnavailable           Code = "app_unavailable"
	Timeout                  Code = "timeout"
	NoMatchingSession        Code = "no_matching_session"
	AmbiguousMatchingSession Code = "ambiguous_matching_sessions"
	ClientRunFailed          Code = "client_run_failed"
	ParseFailure             Code = "parse_failure"
	Missing                  Code = "missing"
	UnsupportedClient        Code = "unsupported_client"
	ClientSessionMetadata    Code = "client_session_metadata"
)

// Driving an app over accessibility (contract §6.3). Up to the activation of Send, nothing was submitted.
const (
	AccessibilityEventBudget       Code = "accessibility_event_budget"
	AccessibilityTreeBudget        Code = "accessibility_tree_budget"
	DesktopAmbiguous               Code = "desktop_ambiguous"
	DesktopGLibError               Code = "desktop_glib_error"
	DesktopDriverFailed            Code = "desktop_driver_failed"
	DeadlineExceeded               Code = "deadline_exceeded"
	ActionUnavailable              Code = "action_unavailable"
	ActionMissingOrAmbiguous       Code = "action_missing_or_ambiguous"
	ActionAcknowledgementUncertain Code = "action_acknowledgement_uncertain"
	ActionBudgetExhausted          Code = "action_budget_exhausted"
	ComposerTextUnavailable        Code = "composer_text_unavailable"
	ComposerMissingOrAmbiguous     Code = "composer_missing_or_ambiguous"
	SendMissingOrAmbiguous         Code = "send_missing_or_ambiguous"
	StateTransitionUnobserved      Code = "state_transition_unobserved"
	DraftPromptNotApplied          Code = "draft_prompt_not_applied"
	InvalidInput                   Code = "invalid_input"
	InputTooLarge                  Code = "input_too_large"
	InvalidSurface                 Code = "invalid_surface"
	InvalidPrompt                  Code = "invalid_prompt"
	InvalidBudget                  Code = "invalid_budget"
	SurfaceMismatch                Code = "surface_mismatch"
	ProfessionAmbiguous            Code = "profession_ambiguous"
	ProfessionGeometryInvalid      Code = "profession_geometry_invalid"
	ContinueMissingOrAmbiguous     Code = "continue_missing_or_ambiguous"
	SkipMissingOrAmbiguous         Code = "skip_missing_or_ambiguous"
	IntroConfirmationAmbiguous     Code = "intro_confirmation_ambiguous"
	ModeMissingOrAmbiguous         Code = "mode_missing_or_ambiguous"
	SurfaceItemAmbiguous           Code = "surface_item_ambiguous"
	HelperMissing                  Code = "helper_missing"
	HelperFailed                   Code = "helper_failed"
	HelperTimeout                  Code = "helper_timeout"
	DesktopAttributeError          Code = "desktop_attribute_error"
	DesktopTypeError               Code = "desktop_type_error"
	MissingOrInvalidReceipt        Code = "missing_or_invalid_receipt"
	OpenFailed                     Code = "open_failed"
)

// berth's own: what the contract has no code for.
const (
	// ProtectionMissing: a protection of package oci isn't in force in the shard.
	ProtectionMissing Code = "protection_missing"
	// LimitsNotEnforced: the engine took a limit and didn't apply it.
	LimitsNotEnforced Code = "limits_not_enforced"
	// OOMKilled: the shard's memory limit was hit, by the cgroup's own event count.
	OOMKilled Code = "oom_killed"
	// ShardFull: a file system of the shard had no room left, so the app couldn't go on or not record it.
	ShardFull Code = "shard_full"
	// ShardLost: the shard ended, its link couldn't be opened again, or its worker broke the protocol.
	ShardLost Code = "shard_lost"
	// ShardSilent: nothing was heard from the worker for the silence limit.
	ShardSilent Code = "shard_silent"
	// ShardNotCreated: the engine couldn't create or start the shard.
	ShardNotCreated Code = "shard_not_created"
	// Cancelled: the user ended the run before the trial did.
	Cancelled Code = "cancelled"
	// ResultsNotSaved: a finished trial couldn't be written to the results folder.
	ResultsNotSaved Code = "results_not_saved"
	// WorkerMismatch: the image's worker isn't the coordinator's.
	WorkerMismatch Code = "worker_mismatch"
	// SessionFailed: a service of the desktop didn't come up, or ended.
	SessionFailed Code = "session_failed"
	// KeyringLocked: an app would be asked for a password that nobody can type.
	KeyringLocked Code = "keyring_locked"
	// KeyringAbsent: no Secret Service is on the session's bus.
	KeyringAbsent Code = "keyring_absent"
	// A11yNotEnabled: an app's window is there, and nothing of what it shows is on the accessibility bus.
	A11yNotEnabled Code = "a11y_not_enabled"
	// SignInRequired: an app waits for somebody to sign in.
	SignInRequired Code = "sign_in_required"
	// PermissionRequired: an app waits for somebody to allow or approve something.
	PermissionRequired Code = "permission_required"
)

// Error is a failure with its code. Detail is one line for a person, already redacted.
type Error struct {
	Code   Code
	Detail string
	Err    error
}

// Errorf makes an Error; an error among args that %w names is wrapped. A text that begins with c
// already, being that of an Error, doesn't get it twice.
func Errorf(c Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: c, Detail: without(c, Line(err.Error())), Err: errors.Unwrap(err)}
}

// Detail is err's text without its code in front: what goes beside the code. It's the code when
// there is nothing else.
func Detail(err error) string {
	if text := without(Of(err), err.Error()); text != "" {
		return text
	}
	return err.Error()
}

func without(c Code, text string) string {
	switch {
	case c == "":
		return text
	case text == string(c):
		return ""
	}
	return strings.TrimPrefix(text, string(c)+": ")
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Detail
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches another *Error of the same code, so errors.Is(err, &code.Error{Code: code.Timeout}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Detail == "" && t.Err == nil
}

// Of returns the code in err's chain, or "" when there is none.
func Of(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
