import type { NodeResponse } from './closed.js';

type Method = (...args: unknown[]) => unknown;

const OF_HEAD = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader', 'writeHead'];

/**
 * Makes a response ignore changes of its head after the head was sent, and calls of `write` and `end` after the end.
 * Otherwise, Node would throw "headers already sent" in the app's callback, where nothing catches the error, and the
 * process would exit.
 */
export function ignoreLateAnswer(res: NodeResponse): void {
  const methods = res as unknown as Record<string, Method | undefined>;
  const ignore = (names: readonly string[], isLate: () => boolean, result: unknown): void => {
    for (const name of names) {
      const method = methods[name];
      if (!method) continue;
      methods[name] = (...args) => (isLate() ? result : method.apply(res, args));
    }
  };
  ignore(OF_HEAD, () => res.headersSent, res);
  ignore(['write'], () => res.writableEnded, true); // `false` would make a stream wait forever for `drain`
  ignore(['end'], () => res.writableEnded, res);
}
