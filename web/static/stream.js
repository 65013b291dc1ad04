// A run's events for this tab: of all tabs of a browser one holds the stream and tells the others, because a
// browser opens six connections to a server and an event stream keeps one.
export function listen(run, onProgress) {
  const channel = new BroadcastChannel(`league-${run}`);
  channel.addEventListener("message", () => onProgress());
  const lead = () =>
    new Promise(() => {
      const source = new EventSource(`/api/v1/runs/${run}/events?after=${Number.MAX_SAFE_INTEGER}`);
      source.addEventListener("progress", (event) => {
        channel.postMessage(event.data);
        onProgress();
      });
      document.documentElement.dataset.stream = "leads";
    });
  document.documentElement.dataset.stream = "follows";
  // The lock is held for as long as the tab lives; then another takes over.
  navigator.locks.request(`league-${run}`, lead);
}
