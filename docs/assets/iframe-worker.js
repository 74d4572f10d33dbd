// The search runs in a worker, which browsers refuse to pages that are opened from a disk. There it runs in a hidden
// frame instead, which takes the place of a worker: messages in by postMessage, out as events.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.ready = new Promise((done) => {
        const page = this.inside.document;
        page.open();
        this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = page.createElement("script");
        script.src = url;
        script.onload = done;
        page.write("<!doctype html><title>search</title><body>");
        page.close();
        page.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
