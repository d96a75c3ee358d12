/** A store whose texts are changed from outside. */

import type { Step } from '@spillway/core';
import { stateStore } from '@spillway/core/store';
import type { OpenStore } from '../src/index.js';

/** Returns the text to store in place of that of a step's count; undefined deletes it. */
export type TamperText = (text: string, step: Step, nowUs: number) => string | undefined;

const leave: TamperText = (text) => text;

/** Changes what is stored `before` or `after` each step that is alone in its group. */
export function openTampered(before: TamperText = leave, after: TamperText = leave): OpenStore {
  const rows = new Map<string, string>();
  let nowUs = 0;
  let asked: readonly Step[] = [];
  const changed = (text: string | undefined, tamper: TamperText): string | undefined => {
    const [step] = asked;
    return text === undefined || !step || asked.length !== 1 ? text : tamper(text, step, nowUs);
  };
  const right = stateStore({
    async transact(names, decide) {
      const texts = names.map((name) => changed(rows.get(name), before));
      for (const [name, state] of decide(texts, nowUs)) {
        const text = changed(state?.text, after);
        if (text === undefined) rows.delete(name);
        else rows.set(name, text);
      }
    },
  });
  const apply = (group: readonly Step[]) => {
    asked = group;
    return right.apply(group);
  };
  return {
    store: { sync: false, apply },
    setTimeUs(us) {
      nowUs = us;
    },
  };
}
