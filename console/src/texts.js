// Every text of the console, in one place. What the server says (messages of errors, names of guests) is
// shown as it is and is not here.
const s = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

export const t = {
  // --- Everywhere ----------------------------------------------------------------------------------
  cancel: "Cancel", close: "Close", save: "Save", done: "Done", retry: "Try again", refresh: "Refresh", copy: "Copy", copied: "Copied.", copy_command: "Copy the command",
  dismiss: "Dismiss", loading: "Loading", menu: "Menu", skip: "Skip to the page", previous: "Previous page", next: "Next page", actions: "Actions", breadcrumbs: "Where you are",
  admin: "Administrator", sign_out: "Sign out", leave_title: (n) => `Sign out and lose ${s(n, "unsaved file")}?`, leave_text: "What was written and not saved is gone then.",
  nav: { side: "Glovebox", label: "Pages", host: "Host", overview: "Overview", playground: "Playground", runs: "Runs", sandboxes: "Sandboxes", templates: "Templates", keys: "Keys and projects", settings: "Settings", security: "Security" },
  project: { label: "Project", one: "Project", all: "All projects" },
  theme: { light: "Light", dark: "Dark", system: "Like the system", now: (name) => `Colours: ${name}. Change` },
  connection: { live: "Live", connecting: "Connecting", waiting: "Not connected. Try now", paused: "Paused" },
  states: {
    running: "Live", ready: "Ready", idle: "Idle", pending: "Pending", starting: "Starting", building: "Building", paused: "Paused", stopped: "Stopped", exited: "Exited", error: "Failed", failed: "Failed", removed: "Removed",
    ok: "Succeeded", timed_out: "Timed out", oom_killed: "Out of memory", killed: "Killed", cancelled: "Cancelled", busy: "Busy", restarting: "Restarting", revoked: "Revoked",
  },
  grades: {
    process: "A convenience, not a security boundary: the code shares the host's files, within its rights.",
    "jail-partial": "A jail, but some of its walls could not be put up on this host.",
    jail: "Namespaces, its own users, an overlay root, a system-call filter, and limits by cgroups.",
    "user-kernel": "A kernel of its own in user space answers the code's system calls.",
    vm: "A virtual machine with a kernel of its own.",
  },
  time: { now: "just now", ago: (text) => `${text} ago`, in: (text) => `in ${text}` },
  languages: { python: "Python", javascript: "JavaScript", typescript: "TypeScript", bash: "Bash", shell: "Shell", r: "R", java: "Java", node: "JavaScript" },
  levels: { missing: "Missing", warn: "Warning" },
  phases: { queued: "Waiting for the installer", resolving: "Choosing versions", building: "Building", installing: "Installing", sealing: "Sealing the layer", checking: "Checking", unpacking: "Unpacking", warming: "Warming up", ready: "Ready" },
  events: {
    "run.started": "Run started", "run.finished": "Run finished", "template.changed": "Template", "network.decided": "Network decision", "network.restarted": "Network restarted",
    "sandbox.created": "Sandbox created", "sandbox.running": "Sandbox live", "sandbox.paused": "Sandbox paused", "sandbox.resumed": "Sandbox resumed", "sandbox.stopped": "Sandbox ended", "sandbox.snapshot": "Snapshot taken", "sandbox.network": "Network changed", "sandbox.updated": "Sandbox changed", "sandbox.error": "Sandbox failed",
    "layer.building": "Packages: installing", "layer.progress": "Packages", "layer.built": "Packages ready", "layer.failed": "Packages failed", "layer.corrupt": "Packages changed on disk", "layer.removed": "Packages removed",
  },
  errors: {
    unreachable: "The server does not answer.", unreachable_advice: "Check that it runs (glovebox serve) and that this computer reaches it.", status: (status) => `The server refused this (HTTP ${status}).`,
    retry_after: (seconds) => `Try again in ${s(seconds, "second")}.`, request_id: "Request", page_title: "The page did not load", page_not_loaded: "This page could not be loaded. The server may have been upgraded.", reload: "Load the console again",
    advice: {
      session_over: "Sign in again.", csrf: "Load the page again.", same_origin_required: "Open the console at the server's own address (server.public_url).", permission_denied: "Use a key that may do this, or ask an administrator.", admin_only: "Sign in with an administrator's key, or ask an administrator.", layer_in_use: "End the sandboxes that have them; shortly afterwards they can be removed.", image_in_use: "End the sandboxes made of it; shortly afterwards it can be removed.",
      name_taken: "Choose another name.", not_found: "It may have ended. Load the list again.", dependencies_failed: "Read the installer's message, and check the names and versions.", no_space: "Remove snapshots or old runs: glovebox gc",
    },
  },
  not_found: { title: "There is no such page", text: "The address may be old or mistyped.", back: "To the overview" },
  palette: { title: "Commands", open: "Search or go to", ask: "Go to a page, find a sandbox, do something", none: "Nothing matches.", move: "choose", take: "open", close: "close", page: "Page", action: "Action", here: "On this page" },

  // --- Signing in ----------------------------------------------------------------------------------
  signin: {
    title: "Sign in", about: "With an API key of this server. The key is not kept in the browser.", over: "Your session is over", over_text: "It expired, was signed out elsewhere, or its key was revoked. What you were doing is still at this address.",
    key: "API key", hint: "The administrator's key is in the file admin.key of the data directory: glovebox key show", missing: "Enter a key.", malformed: "That is not a key: gbx_ and 40 hexadecimal digits.", refused: "This key is not valid here. It may have been revoked.",
    by_link: "Sign in by the link?", by_link_text: (name, project) => `This browser is signed in with the key ${name} of the project ${project}. The link ends that session and begins one of the key that it was made with. Follow it only if you asked for it: whoever owns its key sees what you do with it.`, by_link_verb: "Sign in by the link",
    submit: "Sign in", busy: "Signing in", other: "On the server's own machine, this opens the console without a key:",
  },

  // --- Overview ------------------------------------------------------------------------------------
  overview: {
    title: "Overview", about: (all) => (all ? "The whole host, as it is now." : "Your project, as it is now."), run: "Run code", sandboxes: "Live sandboxes", paused: (n) => `${n} paused`, none_paused: "none paused", runs_minute: "Runs a minute", last_minute: "in the last minute",
    start: "Start, p50", p99: (text) => `p99 ${text}`, no_runs: "no runs lately", warm_ready: "Warm and ready", waiting: "never used, waiting", memory: "Memory", of: (text) => `of ${text}`, refusals: "Refusals a minute", no_refusals: "none in the last minute", refusals_note: "a limit was reached",
    chart_runs: "Runs", chart_start: "Start time", chart_sandboxes: "Sandboxes", chart_memory: "Memory promised to sandboxes", runs_10s: "in 10 s", refused: "refused", live: "live and paused", warm: "warm", promised: "limits", no_samples: "The server has just started. Charts of the last hour begin when it has measured for 20 seconds.",
    events: "What happened", quiet: "Nothing yet", quiet_text: "What runs, starts and ends is listed here as it happens. Try a first run:",
    isolation: "Isolation", by: (engine) => `by the engine ${engine}`, missing: "Missing:", more_walls: "All walls", no_grade: "No sandbox has been made yet, so no walls have stood.", doctor: "What doctor found", healthy: "Everything this host needs is there.",
  },

  // --- Sandboxes -----------------------------------------------------------------------------------
  sandboxes: {
    about: "Persistent sandboxes: each runs until its time to live is over or you end it.", create: "New sandbox", search: "Search by name, id, template or metadata", state: "State", template: "Template", any_template: "Any template", states: { live: "Live and paused", all: "All", running: "Live", paused: "Paused", stopped: "Stopped", error: "Failed" },
    none: "No sandboxes", none_text: "A sandbox keeps its files, processes and interpreters between calls. Make one here, or from a terminal:", no_match: "Nothing matches", no_match_text: "Change the search, or choose another state.",
    name: "Name", age: "Created", expires: "Ends in", cpu: "CPU", memory: "Memory", cpu_now: (n) => `CPU: ${n} processors now`, memory_now: (text) => `Memory: ${text} now`, pick: (name) => `Choose ${name}`, pick_all: "Choose all on this page", pick_page: "Choose the whole page", picked: (n) => `${n} chosen`, bulk: "For all that are chosen", actions_of: (name) => `Actions for ${name}`,
    bounded: "Only the newest are listed and searched.", range: (from, to, total) => `${from}–${to} of ${total}`, pause: "Pause", resume: "Resume", kill: "End", paused: (name) => `${name} is paused.`, resumed: (name) => `${name} goes on.`, killed: (name) => `${name} has ended.`,
    kill_title: (name) => `End ${name}?`, kill_text: "Its processes and files are gone for good. Snapshots stay.", kill_many: (n) => `End ${s(n, "sandbox", "sandboxes")}?`, killed_many: (n) => `${s(n, "sandbox", "sandboxes")} ended.`,
    pause_many: (n) => `Pause ${s(n, "sandbox", "sandboxes")}?`, pause_text: "Their processes stop where they are and keep their memory.", paused_many: (n) => `${s(n, "sandbox", "sandboxes")} paused.`, resume_many: (n) => `Resume ${s(n, "sandbox", "sandboxes")}?`, resumed_many: (n) => `${s(n, "sandbox", "sandboxes")} resumed.`,
  },
  create: {
    title: "New sandbox", from_snapshot: "New sandbox from a snapshot", from_image: "New sandbox from an image", submit: "Create", busy: "Creating", done: (name) => `${name} is live.`, project: (name) => `It will belong to the project ${name}. Choose another project in the sidebar first, if need be.`,
    template: "Template", name: "Name", name_hint: "For people; may be empty.", ttl: "Time to live", ttl_hint: "Such as 30m, 2h or 1d.", on_timeout: "When its time ends", kill: "End it", pause: "Pause it", more: "Limits, network, packages", less: "Fewer settings",
    memory: "Memory in MB", cpus: "Processors", disk: "Disk in MB", from_template: "as the template says", packages: "Packages", packages_hint: "Installed once, before it starts.", env: "Environment", metadata: "Metadata", pairs_hint: "One NAME=VALUE a line.",
    bad_ttl: (text) => `“${text}” is not a time. Write 90s, 30m, 2h or 1d.`, bad_number: (name) => `${name} is not a number.`,
  },
  policy: {
    network: "Network", bases: { none: "None", "https-only": "HTTPS only", all: "Everything" }, base_hints: { none: "Only what the list below allows.", "https-only": "Port 443 of public addresses.", all: "Public addresses, within the administrator's ceiling." },
    allow: "Also allow", deny: "But never", rule_hint: "One name, address or range a line, with a port if you like.", allows: (n) => `${n} allowed`, denies: (n) => `${n} denied`, not_a_pair: (line) => `“${line}” is not NAME=VALUE.`,
  },
  sandbox: {
    title: "Sandbox", all: "All sandboxes", gone: "There is no such sandbox", gone_text: "It may belong to another project, or its record is no longer kept.", copy_id: "Copy the id", more: "More actions", parts: "Parts of the sandbox",
    tabs: { terminal: "Terminal", files: "Files", code: "Code", processes: "Processes", logs: "Logs", network: "Network", metrics: "Metrics", ports: "Ports", snapshots: "Snapshots", settings: "Settings" },
    limits: (limits) => `${limits.memory_mb} MB, ${limits.cpus} CPU`, left: (text, then) => `${then === "pause" ? "pauses" : "ends"} in ${text}`, ended: (reason) => `It ended: ${reason}.`, keepalive: "Restart its time to live", kept: "Its time to live starts again now.",
    snapshot: "Take a snapshot", snapshot_name: "Name of the snapshot", snapshot_verb: "Take it", snapshot_hint: "Files are kept; processes and memory are not.", snapshot_done: "Snapshot taken.", is_paused: "It is paused", is_paused_text: "Its processes are frozen and keep their memory. Resume it to continue.",
  },
  terminal: {
    none: "No terminal is open", none_text: "A terminal goes on when you leave the page, and is here again when you come back. The same from your own shell:", open: "Open a terminal", add: "New terminal", close: "Close the terminal and end its shell", list: "Terminals", fresh: "new", named: (n) => `shell ${n}`, label: (name) => `Terminal ${name}`,
    hint: "Ctrl-Shift-C copies, Ctrl-V pastes. Ctrl-C copies while text is selected. F6 leaves the terminal, Ctrl-Shift-K opens the commands.", spoken: "For screen readers", exited: (code) => `[the shell has exited with ${code}]`, lost: (bytes) => `[${bytes} bytes of older output are no longer kept]`, take_back: "Take it back",
    states: { waiting: "The connection was lost; the shell goes on.", taken: "Another window has taken this terminal over.", failed: "The terminal did not open." },
  },
  files: {
    tree: "Files", path: "Folder", add: "Add or download", upload: "Upload files", new_file: "New file", new_folder: "New folder", download_folder: "Download the folder", name: "Name", make: "Create", empty: "empty", truncated: "There are more. Open the folder to see fewer at once.", drop: "Drop files here to upload them", drop_here: "Let go to upload",
    sending: ({ name, at, of }) => `Uploading ${name}${of > 1 ? ` (${at} of ${of})` : ""}`, uploaded: (name) => `${name} is uploaded.`, replace_title: (name) => `Replace ${name}?`, replace_text: "A file of this name is already there.", replace: "Replace",
    pick: "Choose a file", pick_text: "Text opens in an editor; images, tables and pages are shown. From a terminal:", rename: "Rename or move", new_path: "New path", delete: "Delete", delete_title: (name) => `Delete ${name}?`, delete_file: "The file is gone for good.", delete_folder: "The folder and all that is in it are gone for good.", deleted: (name) => `${name} is deleted.`,
    open_folder: "Open as the top folder", download: "Download", actions_of: (name) => `Actions for ${name}`, view: "Shown as", views: { text: "Text", table: "Table", image: "Image", page: "Page" }, large: "Too large to show", large_text: "Download it instead.", binary: "Not text", binary_text: "There is no preview for this kind of file.", first_rows: (n) => `The first ${n} rows.`,
    editor: (name) => `Text of ${name}`, save: "Save", saved: (name) => `${name} is saved.`, is_saved: "Saved", unsaved: "Not saved yet", revert: "Discard", conflict: "Someone else changed this file since you opened it. Nothing was saved.", theirs: "Load theirs", mine: "Save mine over it", theirs_title: "Load the changed file?", theirs_text: "What you wrote here is lost.",
  },
  code: {
    language: "Language", ready: (warm) => (warm ? "Ready, was warm" : "Ready"), starts_first: "The interpreter starts with the first cell.", run_all: "Run all", restart: "Restart", restart_title: "Restart the interpreter?", restart_text: "Its variables are gone. The cells stay.", restarted: "The interpreter starts anew with the next cell.",
    cell: (n) => `Cell ${n}`, run: (n) => `Run cell ${n} (Ctrl-Enter)`, stop: "Interrupt", running: "The cell runs", add: "Add a cell", add_below: "Add a cell below", remove: (n) => `Remove cell ${n}`, interrupted: "Interrupted.", was_restarted: "The interpreter died and was started anew. Variables are gone.",
  },
  output: { title: "Output", cut: "[what came before is no longer shown]", image: "Image", frame: "HTML of the sandbox" },
  processes: {
    none: "Nothing runs", none_text: "Processes that are started through the API are listed here. To see all that run inside:", command: "Command", state: "State", pid: "Pid", user: "User", started: "Started", context: (id) => `interpreter ${id}`, terminal: "terminal", exit: (code) => `Exited with ${code}`, by_signal: (n) => `Ended by signal ${n}`,
    sent: (name, n) => `SIG${name} sent to process ${n}.`, end: "End", end_title: (n) => `End process ${n}?`, end_of: (n) => `End process ${n}`, ended: (n) => `Process ${n} has ended.`, signals_of: (n) => `Signals for process ${n}`,
  },
  logs: { none: "The log is empty", none_text: "Starts, ends and changes of this sandbox are written here. From a terminal:", search: "Search the log", follow: "Follow", count: (shown, all) => (shown === all ? s(all, "line") : `${shown} of ${all} lines`) },
  network: {
    none: "No connections", none_text: "What it asks of the network, and what was decided, is listed here.", no_network: "This sandbox has no network. Change its policy here, or make one that has:", refused: "Refused, and what would allow it", allow: "Allow", allow_of: (rule) => `Allow ${rule}`, allowed: (rule) => `${rule} is allowed now.`,
    decisions: "Decisions", target: "Target", decision: "Decision", rule: "Rule", times: "Times", sent: "Sent", received: "Received", last: "Last", what: { connect: "connection", resolve: "name" }, is_allowed: "Allowed", is_refused: "Refused", left_out: (n) => `${n} more are not kept.`, incomplete: "The gateway was restarted or did not answer: the true figures are higher.",
    figures: "So far", policy: "Policy", connections: "Connections", open: "Open now", denied: "Refused", names: "Names", spent: "Budgets used up", edit: "Policy", at_once: "Takes effect at once; open connections that it forbids are closed.", saved: "Policy saved.",
  },
  metrics: { cpu: "Processors", memory: "Memory", disk: "Disk", processes: "Processes", now: "now", of: (text) => `of ${text}`, young: "No history yet", young_text: "One point is kept for every ten seconds that it runs. To watch all sandboxes from a terminal:" },
  ports: {
    listening: "Listening now", look: "Look", look_text: "Looks inside for programs that wait for connections.", none: "Nothing listens", none_text: "Start a server in the terminal, for example:", open: "Open", open_of: (port) => `Open port ${port}`, other: "Another port", number: "Port", bad: "A port is a number from 1 to 65535.",
    about: "Opens in a new tab by a link that works once. What it serves is the guest's: it never sees your session.", missing: "Ports have no addresses here that a browser could open: the server is not reached by HTTPS. Programs with a key reach the port at", shared: "Ports have no names of their own here (server.domain), so their pages are shown without cookies and storage, and some will not work.",
  },
  snapshots: {
    none: "No snapshots", none_text: "A snapshot keeps the files, to begin from again as often as you like. From a terminal:", name: "Name", size: "Size", files: "Files", made: "Taken", start: "New sandbox from it", template: "Make a template of it", delete: "Delete", delete_title: (name) => `Delete ${name}?`, delete_text: "Sandboxes that were made from it keep their files.", deleted: "Snapshot deleted.", actions_of: (name) => `Actions for ${name}`,
  },
  box: {
    life: "Lifetime", saved: "Saved.", ttl_hint: "A new time counts from now.", facts: "Facts", id: "Id", state: "State", template: "Template", snapshot: "Snapshot", agent: "Agent", created: "Created", expires: "Ends", ended: "Ended", reason: "Reason", limits: "Limits", disk: "Disk", pids: "Processes at most", net: "Network", packages: "Packages", ports: "Ports", private: "with a token only", public: "open to all who know the address", profile: "Profile", walls: "Walls around it", missing: "Walls that could not be put up",
  },

  // --- Playground and runs -------------------------------------------------------------------------
  playground: {
    about: "Each run gets a sandbox that was never used, and is destroyed afterwards.", run: "Run", stop: "Stop", language: "Language", template: "Template", by_language: "Template: by language", options: "More settings", fewer: "Fewer settings", editor: "Code", timeout: "Time limit in seconds", min_grade: "Weakest isolation", any_grade: "As configured", packages_hint: "Installed once; later runs find them ready.", stdin: "Standard input",
    own_project: (name) => `Runs made here belong to the project of your key, ${name}.`, keys: "Ctrl-Enter runs. Esc, then Tab leaves the editor.", code_kept: "This server keeps the code of runs (store.keep_code).", code_not_kept: "The code is not kept (store.keep_code is off).", idle: "Nothing has run yet", idle_text: "Write code and press Ctrl-Enter. The same from a terminal:", copy_as: "Copy as", copied: (name) => `Copied for ${name}. It reads the key from GLOVEBOX_API_KEY.`,
    took: (text) => `took ${text}`, warm: "warm start", cold: "cold start", silent: "It printed nothing.", truncated: "Some of the output was cut: the limit was reached.", build: "Installer",
    examples: {
      python: "import platform, time\n\nfor i in range(3):\n    print(\"step\", i + 1)\n    time.sleep(0.1)\n\n{\"python\": platform.python_version(), \"answer\": 6 * 7}\n",
      javascript: "const squares = [1, 2, 3, 4].map((n) => n * n);\nconsole.log(squares.join(\" \"));\nsquares.reduce((a, b) => a + b)\n",
      shell: "id\nhostname\nls -la ~\n",
    },
  },
  record: { used: "What it used", exit: "Exit status", signal: "Signal", wall: "Time", setup: "Set-up", queue: "Waited", cpu: "Processor time", memory: "Memory, peak", processes: "Processes, peak", output: "Output", network: "Network", traffic: (out, back, denied) => `${out} sent, ${back} received, ${denied} refused`, open: "The whole record", walls: "Walls that stood" },
  runs: {
    about: "One line for each run. The code itself is not kept (store.keep_code is off).", about_kept: "One line for each run, with its code (store.keep_code is on).", search: "Search by id, template, language or error", status: "Status", any_status: "Any status", since: "When", ever: "Any time", last: { hour: "Last hour", day: "Last day", week: "Last week" },
    none: "No runs yet", none_text: "Everything that runs leaves a record here. Try one:", no_match: "Nothing matches", no_match_text: "Change the search or the filters.", run: "Run", started: "Started", took: "Time", cpu: "CPU", memory: "Memory", grade: "Isolation", shown: (n) => `${s(n, "run")} shown`, more: "Load more",
  },
  run: {
    title: "Run", gone: "There is no such run", gone_text: "It may belong to another project, or its record is no longer kept. The newest from a terminal:", copy_id: "Copy the id", record: "Record", started: "Started", finished: "Finished", language: "Language", key: "Key", request: "Request", profile: "Profile", warm: "Start", code: "Code", try: "Open in the playground", again: "Run again", repeated: (text) => `Ran again in ${text}.`, code_cut: "Only its beginning was kept, so it cannot be run again.",
    no_code: "The code of this run was not kept.", code_off: "The code of runs is not kept. An administrator can change that:", output: "Output", output_cut: "Only a part of the output was kept.", compare: "Then and now", same: "The output is the same.", streams: { stdout: "Standard output", stderr: "Standard error", result: "Result" }, lines_before: (n) => `${s(n, "line")} before that ${n === 1 ? "is" : "are"} the same.`, lines_after: (n) => `${s(n, "more line")} not compared.`,
  },

  // --- Host ----------------------------------------------------------------------------------------
  templates: {
    parts: "Templates and packages", about: "What sandboxes are made of: a language, packages, modules already imported.", create: "New template", busy: "Creating; packages may take minutes", created: (name) => `${name} is created.`, name: "Name", name_hint: "Small letters, digits and dashes.", from: "Based on", description: "Description", packages_hint: "Installed once, into a read-only layer.", preload: "Imported before", preload_hint: "Modules that runs find already imported.", as_base: "as the base", waiting: "Kept waiting",
    language: "Language", limits: "Limits", limits_text: (memory, cpus, seconds) => `${memory}, ${cpus} CPU, ${seconds} s`, warm: "Warm", warm_text: (zygotes, min, max) => `${s(zygotes, "interpreter")} ready, ${min} to ${max} sandboxes wait`, owner: "Owner", built_in: "built in", administrator: "the administrator", delete: "Delete", delete_title: (name) => `Delete ${name}?`, delete_text: "Sandboxes that were made from it go on.", deleted: (name) => `${name} is deleted.`, actions_of: (name) => `Actions for ${name}`,
  },
  packages: {
    title: "Packages", about: "Installed once in a sandbox that reaches the package index and nothing else; read-only afterwards.", install: "Install packages", busy: "Installing", language: "Language", hint: "Names, with versions if you like, separated by spaces.", built: "Installed. The next run finds them ready.", was_there: "They were installed already.", none: "No packages yet", none_text: "Name packages with a run, and they are installed once for all that follow:",
    packages: "Packages", manager: "Installed by", size: "Size", made: "Installed", used: "Last used", state: "State", in_use: "In use", unused: "Unused", count: (n) => s(n, "package"), check: "Check against its digest", intact: "Nothing has changed.", corrupt: "The layer has changed on disk and is out of use.", remove: "Remove", remove_title: (id) => `Remove ${id}?`, remove_text: "It is installed again when it is asked for.", removed: "Removed.", actions_of: (id) => `Actions for ${id}`,
  },
  images: {
    title: "Images", about: "Container images: file systems made by others, used in place of the host's files.", load: "Load an archive", pull: "Pull an image", pulling: "Pulling", pull_hint: "As container tools name it, from a registry that the administrator lists (images.registries). Without a registry it is Docker Hub's.", user: "User name", password: "Password or token", credentials_hint: "Only for what is not public. Used once, and kept nowhere.", phases: { resolving: "Asking the registry", fetching: "Fetching" },
    none: "No images yet", none_text: "An image comes from a registry or an archive. Pull one here, or from a terminal:",
    image: "Image", size: "Size", owner: "For", everyone: "all projects", made: "Loaded", used: "Last used", state: "State", pinned: "Pinned", actions_of: (name) => `Actions for ${name}`, start: "New sandbox from it", copy_run: "Copy the command that runs code in it", details: "What it is", digest: "Digest", entries: "Files", layers: "Layers it had", devices: "Devices left out", capabilities: "Capabilities lost",
    pin: "Pin", unpin: "Unpin", is_pinned: (name) => `${name} is kept when disk space is needed.`, unpinned: (name) => `${name} may be removed when disk space is needed.`, publish: "Give to all projects", unpublish: "Keep for its project", published: (name) => `All projects can use ${name}.`, unpublished: (name) => `Only its project can use ${name} now.`, remove: "Remove", remove_title: (name) => `Remove ${name}?`, remove_text: "It can be loaded again from its archive.", removed: (name) => `${name} is removed.`,
    file: "Archive", file_hint: "Of docker save, podman save or skopeo; not compressed itself.", form: "What it is", forms: { image: "An image", tree: "A tree of files" }, form_hints: { image: "Its layers are checked against their digests.", tree: "A tar archive of a root directory, perhaps compressed." }, name: "Name", name_hint: "Empty: as the archive says.", name_needed: "A tree has no name of its own.", sending: (percent) => `Sending, ${percent} %`, busy: "Loading", loaded: (name) => `${name} is loaded.`, was_there: (name) => `${name} is already loaded.`,
  },
  keys: {
    about: "A key belongs to a project and sees only what is the project's. An administrator's key sees all.", create: "New key", none: "No keys", none_text: "Keys are made here or by the command:", of: (name) => `Keys of ${name}`, name: "Name", name_hint: "What it is used for.", unnamed: "unnamed", role: "Role", roles: { user: "User", admin: "Administrator" }, role_hints: { user: "Sees and uses its project.", admin: "Sees every project, makes keys, changes the host." }, project_hint: "Small letters, digits, dashes. A new name makes a new project.",
    limits: "Limits", unlimited: "none", no_limit: "no limit", max_in_flight: "At once", runs_per_minute: "Runs a minute", max_memory: "Memory together, in MB", in_flight: (n) => `${n} at once`, per_minute: (n) => `${n} a minute`, memory: (n) => `${n} MB`, made: "Created", used: "Last used", never: "never",
    made_title: "The key", once: "The key is shown only once. Store it in a safe place.", copy: "Copy the key", use: "To use it:", revoke: "Revoke", revoke_of: (name) => `Revoke ${name}`, revoke_title: (name) => `Revoke ${name}?`, revoke_text: "It stops working at once, everywhere, and so do sessions that were opened with it.", revoke_own: "This is the key you are signed in with: your session ends, too.", revoked: (name) => `${name} is revoked.`, show_revoked: "Show revoked keys",
  },
  settings: {
    about: "All settings of the server, and where each value comes from.", look: "Colours and keys", theme: "Colours", slash: "/ goes to the search field", look_text: "Remembered in this browser.", you: "You and this server", key: "Signed in with", since: "Since", until: "Until", version: "Version", address: "Address", ports_domain: "Domain for ports", no_domain: "none (server.domain)", licences: "Built with", licences_link: "Notices of the libraries and fonts",
    server: "Server", search: "Search the settings", which: "Which settings", all: "All", changed: "Changed", none: "Nothing matches", none_text: "All settings, with where they come from:", name: "Setting", value: "Value", origin: "From", origins: { default: "default", file: "file", environment: "environment", flag: "option" },
  },
  security: {
    about: "The walls on this host, and the results of attacks on them.", default: "default", usable: "Usable", unusable: "Not usable", for_runs: "Runs", for_sandboxes: "Sandboxes", not_yet: "It has made no sandbox on this host yet.", off: "off", without: "Without:", features: { sessions: "Sandboxes", warm: "Warm starts", mounts: "Mounts", network: "Network policies", packages: "Packages", snapshots: "Snapshots", terminal: "Terminals", pause: "Pause", sudo: "sudo inside" },
    attacks: "Attacks on this kernel", no_report: "Not attacked yet", no_report_text: "More than three hundred attacks, each proven harmless, each with the wall that stopped it. A page never starts them; the command does:", by_command: "A page never starts the attacks; this command does, as root on the host.", which: "Which attacks", all: "All", against: (engine, version) => `engine ${engine}, Glovebox ${version}`, attack: "Attack", aims_at: "Aims at", outcome: "Outcome", by: "By which wall",
    outcomes: { stopped: "stopped", succeeded: "succeeded", "not-tried": "not tried", "kernel-lacks-it": "not in this kernel" },
  },
};
