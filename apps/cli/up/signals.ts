/** Ctrl-C, `kill`, or the end of the terminal. A second one changes nothing: the stop is bounded in time. */
export const stopSignals = (onFirst: () => void): { readonly signal: AbortSignal; readonly asked: Promise<void> } => {
  const controller = new AbortController();
  const asked = new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => {
        if (!controller.signal.aborted) onFirst();
        controller.abort(new Error(name));
        resolve();
      });
    }
  });
  return { signal: controller.signal, asked };
};
