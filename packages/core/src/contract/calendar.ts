/** A period of a calendar rule: a day, a week, a month, or a billing period of the app. */
export interface Period {
  /**
   * The name of the period, such as `2026-11@Europe/Berlin`; for a billing period, the id from the app, escaped as in
   * `encodeName`, or `unknown` if the app has supplied none. If the app supplies no new period, periods of the same
   * length follow. Their names are that id with `+1`, `+2` and so on. The names of earlier periods end with `-1`, `-2`
   * and so on.
   */
  readonly label: string;
  /** The first instant, in microseconds since the epoch: a whole second. */
  readonly startUs: number;
  /** The first instant after the period. */
  readonly endUs: number;
}

/** The period of an instant, the period before, and the next one. */
export interface Periods {
  readonly previous: Period;
  readonly current: Period;
  readonly next: Period;
}

/** Divides time into periods. */
export interface Calendar {
  /**
   * A name without spaces: `day@UTC`, `week@Europe/Berlin`, `week-7@UTC` (from Sunday), `month@UTC`, `month-15@UTC`
   * (from the 15th), or `billing` for periods that the app supplies.
   */
  readonly name: string;
  /** Returns the periods around an instant. For `billing`, returns periods for keys whose billing period is unknown. */
  around(us: number): Periods;
}

/** A billing period as the app knows it, for example from a subscription. */
export interface BillingPeriod {
  /** Identifies the period in the store: 1 to 256 UTF-16 units, such as the id of its invoice. */
  readonly id: string;
  /** The first instant, as a date or in milliseconds since the epoch. Parts of a second are cut off. */
  readonly start: Date | number;
  /** The first instant after the period: 12 hours to 400 days after `start`. */
  readonly end: Date | number;
}
