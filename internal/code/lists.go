package code

import "slices"

// Contract are the codes of the eval contract (§6.3), in its order.
var Contract = slices.Concat(settingUp, Kinds, driving)

// settingUp are those of a client's set-up.
var settingUp = []Code{
	LinuxRequired, EnvironmentInvalid, HomeNotFresh, HomeUnsafe, WorkspaceUnsafe, EvidenceDirUnsafe, AppPathInvalid,
	CodexPathInvalid, APIKeyFileUnsafe, APIKeyInvalid, LoginFailed, LoginTimeout, LoginUnverified, MCPPreflightFailed,
	MCPStatusUnavailable, MCPServerNotReady, HostToolPolicyUnenforced, AppStartFailed, AppExited, AppStopFailed,
	AppNotRunning, PromptInvalid, PromptTooLarge, URLHandoffFailed, URLHandoffUnverified, PluginSetupFailed,
	InferenceUnavailable,
}

// Kinds are the values of a record's failureKind, mst's own short list. What exactly happened is in the
// failureCode beside it.
var Kinds = []Code{
	SubmissionFailed, AppUnavailable, Timeout, NoMatchingSession, AmbiguousMatchingSession, ClientRunFailed,
	ParseFailure, Missing, UnsupportedClient, ClientSessionMetadata,
}

// driving are those of an app's window.
var driving = []Code{
	AccessibilityEventBudget, AccessibilityTreeBudget, DesktopAmbiguous, DesktopGLibError, DesktopDriverFailed,
	DeadlineExceeded, ActionUnavailable, ActionMissingOrAmbiguous, ActionAcknowledgementUncertain,
	ActionBudgetExhausted, ComposerTextUnavailable, ComposerMissingOrAmbiguous, SendMissingOrAmbiguous,
	StateTransitionUnobserved, DraftPromptNotApplied, InvalidInput, InputTooLarge, InvalidSurface, InvalidPrompt,
	InvalidBudget, SurfaceMismatch, ProfessionAmbiguous, ProfessionGeometryInvalid, ContinueMissingOrAmbiguous,
	SkipMissingOrAmbiguous, IntroConfirmationAmbiguous, ModeMissingOrAmbiguous, SurfaceItemAmbiguous, HelperMissing,
	HelperFailed, HelperTimeout, DesktopAttributeError, DesktopTypeError, MissingOrInvalidReceipt, OpenFailed,
}

// Own are berth's own; docs/codes.md says what each means.
var Own = []Code{
	ProtectionMissing, LimitsNotEnforced, OOMKilled, ShardFull, ShardLost, ShardSilent, ShardNotCreated, Cancelled,
	ResultsNotSaved, WorkerMismatch, SessionFailed, KeyringLocked, KeyringAbsent, A11yNotEnabled, SignInRequired,
	PermissionRequired,
}

// Unreachable are codes of the contract that a test in a shard can't bring about: they're of MST's Python driver,
// its helper programs, other platforms, or an older app.
var Unreachable = []Code{
	LinuxRequired, HostToolPolicyUnenforced, DesktopGLibError, DesktopAttributeError, DesktopTypeError,
	HelperMissing, HelperFailed, HelperTimeout,
}
