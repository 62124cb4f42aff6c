/** Embedded Postgres cannot run here. `reason` says what is missing; `DATABASE_URL` is always a way out. */
export class EmbeddedPostgresUnavailable extends Error {
  override readonly name = 'EmbeddedPostgresUnavailable';
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`embedded Postgres cannot run: ${reason}; set DATABASE_URL to use a server of your own`, options);
  }
}

/** The port asked for is taken; `holder` names the process that listens there, as far as it can be told. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
  constructor(
    readonly port: number,
    readonly holder: string | undefined,
  ) {
    super(`port ${port} on 127.0.0.1 is taken${holder === undefined ? '' : ` by ${holder}`}`);
  }
}
