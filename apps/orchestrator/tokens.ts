/** The process's own parts, for what belongs to no context. */
export const PARTS = Symbol('Parts');
