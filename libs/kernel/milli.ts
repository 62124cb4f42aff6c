/**
 * Cores or a share as whole thousandths, so that sums are exact whatever their order: 0.1 + 0.2 is 300, not
 * 0.30000000000000004.
 */
export const toMilli = (amount: number): number => Math.round(amount * 1000);

export const fromMilli = (milli: number): number => milli / 1000;
