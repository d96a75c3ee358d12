/** Makes `refundIf` from the options by which some packages say what they do not count. */

interface Skips {
  readonly skipSuccessfulRequests?: boolean | undefined;
  readonly skipFailedRequests?: boolean | undefined;
}

/** A request that was aborted has failed. */
export function refundOf<Raw>(
  { skipSuccessfulRequests = false, skipFailedRequests = false }: Skips,
  wasSuccessful: (raw: Raw) => boolean | Promise<boolean>,
) {
  if (!skipSuccessfulRequests && !skipFailedRequests) return undefined;
  return async (
    { raw }: { readonly raw: Raw },
    { aborted }: { readonly aborted?: boolean },
  ): Promise<boolean> => {
    const success = !aborted && (await wasSuccessful(raw));
    return success ? skipSuccessfulRequests : skipFailedRequests;
  };
}
