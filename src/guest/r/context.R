# A code context in R: cells come on descriptor 4, one after the other, and share the global environment.
#
#   Rscript context.R       cells and answers as in src/wire/guest/cell.h
#
# Every visible value of a cell is a result, the last one its main result; plots are PNG images. R cannot
# replace descriptor 0, so a cell with stdin is refused. SIGINT ends the cell that runs and nothing else:
# our own code runs with interrupts suspended.

glovebox <- new.env(parent = baseenv())

local(envir = glovebox, {
  most_record <- 17 * 2^20
  most_text <- 2^20
  most_image <- 4 * 2^20
  magic <- charToRaw("GBXJOB1\n")
  plots <- tempfile("plots-")
  devices <- integer()
  results <- NULL
  ended <- FALSE

  number <- function(bytes) sum(as.numeric(bytes) * 256^(seq_along(bytes) - 1))

  # The next record; NULL at the end.
  read_record <- function(pipe) {
    size <- readBin(pipe, "raw", 4)
    if (length(size) < 4 || number(size) > most_record) return(NULL)
    record <- readBin(pipe, "raw", number(size))
    if (length(record) < number(size)) NULL else record
  }

  # Reads the parts of a record, one after the other.
  reader <- function(record) {
    at <- 0
    bytes <- function(count) {
      if (at + count > length(record)) stop("the record ends too early")
      at <<- at + count
      if (count == 0) raw() else record[(at - count + 1):at]
    }
    text <- function() {
      found <- bytes(number(bytes(4)))
      found <- rawToChar(found[found != 0])
      Encoding(found) <- "UTF-8"
      found
    }
    texts <- function() {
      count <- number(bytes(4))
      vapply(seq_len(min(count, length(record))), function(i) text(), "")
    }
    list(bytes = bytes, text = text, texts = texts)
  }

  quoted <- function(text) {
    text <- enc2utf8(paste(as.character(text), collapse = "\n"))
    if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "?")
    text <- gsub("\\", "\\\\", text, fixed = TRUE)
    text <- gsub("\"", "\\\"", text, fixed = TRUE)
    text <- gsub("\n", "\\n", text, fixed = TRUE)
    text <- gsub("\t", "\\t", text, fixed = TRUE)
    if (grepl("[\001-\037]", text)) {
      for (code in 1:31) text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
    }
    paste0("\"", text, "\"")
  }

  send <- function(line) {
    try(silent = TRUE, {
      writeBin(charToRaw(enc2utf8(paste0(line, "\n"))), results)
      flush(results)
    })
  }

  send_result <- function(mime, value, main) {
    send(sprintf("{\"type\":\"result\",\"mime\":{%s},\"main\":%s}", paste0(vapply(mime, quoted, ""), ":", value, collapse = ","), if (main) "true" else "false"))
  }

  send_error <- function(name, message, traceback = character(), line = NA) {
    lines <- if (length(traceback)) paste(vapply(traceback, quoted, ""), collapse = ",") else ""
    send(sprintf("{\"type\":\"error\",\"name\":%s,\"message\":%s,\"traceback\":[%s],\"line\":%s}",
                 quoted(name), quoted(message), lines, if (is.na(line)) "null" else as.character(as.integer(line))))
  }

  base64 <- function(bytes) {
    digits <- utf8ToInt("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    missing <- -length(bytes) %% 3
    triples <- matrix(as.integer(c(bytes, raw(missing))), nrow = 3)
    joined <- triples[1, ] * 65536L + triples[2, ] * 256L + triples[3, ]
    codes <- rbind(joined %/% 262144L, joined %/% 4096L %% 64L, joined %/% 64L %% 64L, joined %% 64L)
    out <- digits[codes + 1L]
    if (missing) out[length(out) - seq_len(missing) + 1] <- utf8ToInt("=")
    rawToChar(as.raw(out))
  }

  shown_text <- function(value) {
    text <- paste(utils::capture.output(if (isS4(value)) methods::show(value) else print(value)), collapse = "\n")
    if (nchar(text, "bytes") <= most_text) return(text)
    paste0(substr(text, 1, most_text / 4), "\n[text/plain: too long, cut]")
  }

  # Figures are drawn into files of ours, unless the code opens a device itself.
  open_device <- function(...) {
    dir.create(plots, showWarnings = FALSE)
    grDevices::png(file.path(plots, sprintf("%06d-%%04d.png", length(list.files(plots)))), width = 800, height = 600, res = 110, type = "cairo")
    devices <<- c(devices, grDevices::dev.cur())
  }

  send_plots <- function() {
    for (device in devices) if (device %in% grDevices::dev.list()) grDevices::dev.off(device)
    devices <<- integer()
    for (file in list.files(plots, full.names = TRUE)) {
      size <- file.size(file)
      if (!is.na(size) && size > 0) {
        if (size <= most_image) send_result(c("text/plain", "image/png"), c(quoted("<plot>"), quoted(base64(readBin(file, "raw", size)))), FALSE)
        else send_result("text/plain", quoted(sprintf("[image/png: %.0f bytes, too large]", size)), FALSE)
      }
      unlink(file)
    }
  }

  put_environment <- function(entries) {
    entries <- entries[grepl("^[^=]+=", entries)]
    if (!length(entries)) return(character())
    names <- sub("=.*", "", entries)
    before <- Sys.getenv(names, unset = NA, names = TRUE)
    for (entry in entries) do.call(Sys.setenv, stats::setNames(list(sub("^[^=]*=", "", entry)), sub("=.*", "", entry)))
    before
  }

  restore_environment <- function(before) {
    for (name in names(before)) {
      if (is.na(before[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, stats::setNames(list(before[[name]]), name))
    }
  }

  # The calls of the code itself, outermost first: without ours before them and the handler's after.
  own_calls <- function(calls) {
    text <- vapply(calls, function(call) paste(deparse(call, 60)[1]), "")
    first <- which(grepl("^eval\\(expression, globalenv\\(\\)\\)", text))
    if (length(first)) text <- text[-seq_len(first[1] + 1)]
    text[!grepl("^(\\.handleSimpleError|h\\(simpleError|stop\\()", text)]
  }

  # The exit status of a cell.
  run_cell <- function(cell) {
    if (cell$has_stdin) {
      send_error("Error", "an R cell cannot have stdin")
      return(1L)
    }
    source <- if (nzchar(cell$code)) strsplit(cell$code, "\r?\n")[[1]] else character()
    line <- NA
    calls <- list()
    outcome <- tryCatch({
      allowInterrupts({
        expressions <- parse(text = source, keep.source = TRUE, srcfile = srcfilecopy(cell$name, source))
        places <- attr(expressions, "srcref")
        withCallingHandlers(error = function(condition) calls <<- sys.calls(), {
          for (at in seq_along(expressions)) {
            line <- if (is.null(places)) NA else places[[at]][1]
            expression <- expressions[[at]]
            value <- withVisible(eval(expression, globalenv()))
            if (value$visible) {
              text <- shown_text(value$value)
              suspendInterrupts(send_result("text/plain", quoted(text), at == length(expressions)))
            }
            value <- NULL
          }
        })
      })
      0L
    }, interrupt = function(condition) {
      send_error("KeyboardInterrupt", "the cell was interrupted")
      130L
    }, error = function(condition) {
      message <- conditionMessage(condition)
      name <- class(condition)[1]
      if (!length(calls) || grepl("^[^:]*:[0-9]+:[0-9]+: (unexpected|invalid)", message)) {
        name <- "SyntaxError"
        line <<- suppressWarnings(as.numeric(sub("^[^:]*:([0-9]+):.*", "\\1", message)))[1]
      } else if (name == "simpleError") {
        name <- "Error"
      }
      trace <- own_calls(calls)
      head <- if (length(trace)) paste0("Error in ", trace[length(trace)], " : ", message) else paste0("Error: ", message)
      if (!cell$rich) cat(head, "\n", sep = "", file = stderr())
      send_error(name, message, c(strsplit(head, "\n")[[1]], if (length(trace)) paste0(seq_along(trace), ": ", trace)), line)
      1L
    })
    try(send_plots(), silent = TRUE)
    outcome
  }

  parse_cell <- function(record) {
    from <- reader(record)
    cell <- list(number = number(from$bytes(8)))
    flags <- as.integer(from$bytes(1))
    name <- from$text()
    cell$name <- if (nzchar(name)) name else sprintf("<cell %.0f>", cell$number)
    from$text()
    cell$has_stdin <- bitwAnd(flags, 1L) != 0
    cell$rich <- bitwAnd(flags, 4L) != 0
    cell$code <- from$text()
    cell$env <- if (bitwAnd(flags, 2L) != 0) from$texts() else character()
    cell
  }

  enter <- function(record) {
    from <- reader(record)
    if (!identical(from$bytes(8), magic)) stop("not a job")
    put_environment(from$texts())
    from$texts()
    if (!l10n_info()$`UTF-8`) Sys.setlocale("LC_CTYPE", "C.UTF-8")
    setwd(from$text())
  }

  leave <- function(status) {
    ended <<- TRUE
    send(sprintf("{\"type\":\"exit\",\"code\":%d}", bitwAnd(as.integer(status), 255L)))
    unlink(plots, recursive = TRUE)
    base::quit("no", status, runLast = FALSE)
  }

  serve <- function() {
    pipe <- file("/dev/fd/4", "rb", raw = TRUE)
    results <<- file("/dev/fd/3", "wb", raw = TRUE)
    first <- read_record(pipe)
    if (is.null(first)) return(base::quit("no", 0, runLast = FALSE))
    entered <- tryCatch({ enter(first); NULL }, error = function(condition) conditionMessage(condition))
    if (!is.null(entered)) {
      send_error("OSError", paste("glovebox: cannot enter the working directory:", entered))
      leave(1)
    }
    options(device = open_device, warn = 1, browser = function(...) NULL, repos = getOption("repos"), menu.graphics = FALSE)
    send("{\"type\":\"ready\"}")
    while (!is.null(record <- read_record(pipe))) {
      cell <- parse_cell(record)
      # One that came too late for its cell.
      tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(condition) NULL)
      before <- put_environment(cell$env)
      status <- run_cell(cell)
      restore_environment(before)
      flush(stdout())
      flush(stderr())
      send(sprintf("{\"type\":\"end\",\"cell\":%.0f,\"exit_code\":%d}", cell$number, status))
    }
    leave(0)
  }
})

# What the code calls: quit() says how the context ended.
attach(local({
  quit <- q <- function(save = "no", status = 0, runLast = TRUE) glovebox$leave(status)
  environment()
}), name = "glovebox:context", warn.conflicts = FALSE)
assign("glovebox", glovebox, as.environment("glovebox:context"))
rm(glovebox)
suspendInterrupts(get("glovebox", "glovebox:context")$serve())
