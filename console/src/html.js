// What every component uses: markup as tagged templates (htm), Preact's hooks and signals.
import { h } from "preact";
import htm from "htm";

export { Fragment, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";

export const html = htm.bind(h);

// A class attribute of those names whose condition holds.
export const classes = (...names) => names.filter(Boolean).join(" ");
