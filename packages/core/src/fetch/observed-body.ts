import type { WebController, WebReader, WebSource } from './web.js';

export class ObservedBody implements WebSource {
  private readonly reader: WebReader;
  private readonly over: (aborted: boolean) => void;

  /** @param over called when the body has ended, failed or was canceled; may be called more than once */
  constructor(body: object, over: (aborted: boolean) => void) {
    this.over = over;
    this.reader = (body as { getReader(): WebReader }).getReader();
  }

  async pull(controller: WebController): Promise<void> {
    try {
      const { done, value } = await this.reader.read();
      if (!done) return controller.enqueue(value);
      this.over(false);
      controller.close();
    } catch (error) {
      this.over(true);
      controller.error(error);
    }
  }

  cancel(reason: unknown): Promise<void> {
    this.over(true);
    return this.reader.cancel(reason);
  }
}
