# Steps with a title, a clock and a log: a live line on a terminal, plain lines elsewhere. All of it goes to stderr, so
# that stdout belongs to whatever is run.

if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then
  ON_TERMINAL=1
  DIM=$'\e[2m' BOLD=$'\e[1m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m' CLEAR=$'\r\e[K'
else
  ON_TERMINAL=
  DIM='' BOLD='' RED='' GREEN='' PLAIN='' CLEAR=''
fi

JOBS=${ATOLL_JOBS:-$(nproc)}
LOG_DIR=
STEP_COUNT=0
STEP_US=0       # how long the last step took
QUIET_UNDER=0   # a step that succeeds within so many microseconds is not worth a line
WATCHER=

trap 'stop_watching' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "$*" >&2; }
complain() { printf '%s\n' "${RED}dev:${PLAIN} $*" >&2; }

# "0.4s", "12s", "3m05s" into REPLY.
describe_us() {
  local us=$1
  local seconds=$((us / 1000000))
  if ((seconds < 10)); then
    REPLY="$seconds.$((us % 1000000 / 100000))s"
  elif ((seconds < 60)); then
    REPLY="${seconds}s"
  else
    printf -v REPLY '%dm%02ds' $((seconds / 60)) $((seconds % 60))
  fi
}

# EPOCHREALTIME has the locale's decimal sign; as microseconds it has none.
now_us() { REPLY=${EPOCHREALTIME//[!0-9]/}; }

log_to() {
  LOG_DIR="$ROOT/build/log/$1"
  STEP_COUNT=0
}

# step TITLE COMMAND…: runs the command with its output in a log, shows progress, and on failure the end of the log.
step() {
  local title=$1 log begin status
  shift
  STEP_COUNT=$((STEP_COUNT + 1))
  [[ $STEP_COUNT -gt 1 ]] || mkdir -p "$LOG_DIR"
  printf -v log '%s/%02d-%s.log' "$LOG_DIR" "$STEP_COUNT" "${title//[^A-Za-z0-9]/-}"
  STEP_LOG=$log
  now_us
  begin=$REPLY
  : >"$log"
  watch_log "$title" "$log" "$begin" &
  WATCHER=$!
  "$@" >>"$log" 2>&1 </dev/null
  status=$?
  stop_watching
  now_us
  STEP_US=$((REPLY - begin))
  describe_us "$STEP_US"
  if [[ $status -ne 0 ]]; then
    say "${RED}failed${PLAIN}  $title ${DIM}$REPLY${PLAIN}"
    tail -n 40 "$log" | sed 's/^/    /' >&2
    say "    the whole log: ${log#"$ROOT"/}"
  elif ((STEP_US >= QUIET_UNDER)); then
    say "${GREEN}ok${PLAIN}      $title ${DIM}$REPLY${PLAIN}"
  fi
  return "$status"
}

# Shows the last line of a growing log: five times a second on a terminal, twice a minute elsewhere.
watch_log() {
  local title=$1 log=$2 begin=$3 last width pause=0.2 never
  trap - TERM INT
  exec 9>&-
  # Waiting on a pipe that never speaks: unlike sleep it leaves no process behind that would hold our stderr open.
  exec {never}<> <(:)
  if [[ $ON_TERMINAL ]]; then
    read -rt 0.3 -u "$never"
    width=$(tput cols 2>/dev/null || echo 80)
  else
    read -rt 1 -u "$never"
    say "        $title …"
    pause=30
    read -rt "$pause" -u "$never"
  fi
  while true; do
    last=$(tail -c 400 "$log" 2>/dev/null | tr '\r' '\n' | grep -av '^[[:space:]]*$' | tail -n 1)
    now_us
    describe_us $((REPLY - begin))
    if [[ $ON_TERMINAL ]]; then
      last="        $title  $REPLY  $last"
      printf '%s%s%s%s' "$CLEAR" "$DIM" "${last:0:$((width - 1))}" "$PLAIN" >&2
    elif [[ $last ]]; then
      say "        $title … $REPLY  ${last:0:120}"
    fi
    read -rt "$pause" -u "$never"
  done
}

stop_watching() {
  [[ $WATCHER ]] || return 0
  kill "$WATCHER" 2>/dev/null
  wait "$WATCHER" 2>/dev/null
  WATCHER=
  printf '%s' "$CLEAR" >&2
}
