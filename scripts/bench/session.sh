#!/usr/bin/env bash
# session.sh: the desktop of package session, as a shell script starts it: the same programs, each as soon
# as what it needs is there, and polls of 10 ms, without the smaller keymap and font files of package
# session's own. It prints "ready" at the same end: the display, the bus and its activation environment,
# the keyring unlocked and proved by a write and a read, the accessibility bus on and its registry
# answering, a window manager.
#
# Where it lives comes from its environment: DISPLAY, XDG_RUNTIME_DIR and DBUS_SESSION_BUS_ADDRESS in
# it, HOME and the rest as package session gives it to the services.
set -euo pipefail

poll() { until "$@" >/dev/null 2>&1; do sleep 0.01; done; }

call() { # DESTINATION PATH METHOD [ARG...]: on the session bus
  local to=$1 path=$2
  shift 2
  dbus-send --session --print-reply=literal --dest="$to" "$path" "$@"
}

owned() { call org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner "string:$1" | grep -q true; }

unlocked() {
  call org.freedesktop.secrets /org/freedesktop/secrets org.freedesktop.Secret.Service.Unlock \
    array:objpath:/org/freedesktop/secrets/collection/login | grep -q /collection/login
}

on() { # NAME: an org.a11y.Status to true, and see that it is
  call org.a11y.Bus /org/a11y/bus org.freedesktop.DBus.Properties.Set string:org.a11y.Status "string:$1" variant:boolean:true
  call org.a11y.Bus /org/a11y/bus org.freedesktop.DBus.Properties.Get string:org.a11y.Status "string:$1" | grep -q true
}

registry_answers() {
  dbus-send --bus="$AT_SPI_BUS_ADDRESS" --print-reply --dest=org.a11y.atspi.Registry \
    /org/a11y/atspi/registry org.a11y.atspi.Registry.GetRegisteredEvents
}

# openbox owns the display well before it takes windows.
managed() { xprop -root _NET_CLIENT_LIST | grep -q '#'; }

keyrings=$XDG_DATA_HOME/keyrings
mkdir -p -m 0700 "$keyrings"
printf '[keyring]\ndisplay-name=login\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n' >"$keyrings/login.keyring"
printf login >"$keyrings/default"

Xvfb "$DISPLAY" -screen 0 1280x900x24 -nolisten tcp -noreset -extension GLX &
dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --nofork --nopidfile --nosyslog &
poll dbus-update-activation-environment --all
gnome-keyring-daemon --foreground --components=secrets --control-directory="$XDG_RUNTIME_DIR/keyring" &

poll test -S "/tmp/.X11-unix/X${DISPLAY#:}"
openbox --sm-disable --config-file "$OPENBOX_CONFIG" &
/usr/libexec/at-spi-bus-launcher --launch-immediately --a11y=1 --screen-reader=1 &
poll owned org.a11y.Bus
AT_SPI_BUS_ADDRESS=$(call org.a11y.Bus /org/a11y/bus org.a11y.Bus.GetAddress | tr -d ' ')
export AT_SPI_BUS_ADDRESS
/usr/libexec/at-spi2-registryd &
on IsEnabled
on ScreenReaderEnabled

poll owned org.freedesktop.secrets
poll unlocked
printf secret | secret-tool store --label=berth application berth
[ "$(secret-tool lookup application berth)" = secret ]
secret-tool clear application berth

poll registry_answers
poll managed
echo ready
