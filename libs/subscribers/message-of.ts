/** What went wrong in words, whatever was thrown. */
export const messageOf = (error: unknown): string =>
  (error as { readonly message?: string } | undefined)?.message ?? String(error);
