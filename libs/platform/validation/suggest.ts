/** Edits (insert, delete, replace, swap of neighbours) between two words: the optimal string alignment distance. */
export const editDistance = (left: string, right: string): number => {
  let before: readonly number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      current.push(cheapest({ left, right, row, column, before, previous, current }));
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
};

interface Cell {
  readonly left: string;
  readonly right: string;
  readonly row: number;
  readonly column: number;
  readonly before: readonly number[];
  readonly previous: readonly number[];
  readonly current: readonly number[];
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity;

const cheapest = ({ left, right, row, column, before, previous, current }: Cell): number => {
  const same = left[row - 1] === right[column - 1];
  const swapped = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
  return Math.min(
    at(previous, column) + 1,
    at(current, column - 1) + 1,
    at(previous, column - 1) + (same ? 0 : 1),
    swapped ? at(before, column - 2) + 1 : Infinity,
  );
};

const LONGEST = 40;

/** The known word that was probably meant: the beginning of one, or at most a third of its letters away. */
export const closest = (word: string, known: readonly string[]): string | undefined => {
  if (word.length > LONGEST) return undefined;
  const asked = word.toLowerCase();
  const rated = known.map((name) => {
    const other = name.toLowerCase();
    const begins = asked.length > 2 && (other.startsWith(asked) || asked.startsWith(other));
    return { name, distance: begins ? 1 : editDistance(asked, other) };
  });
  const best = rated.toSorted((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.name : undefined;
};

/** `; did you mean count?`, or nothing when no known word is near. */
export const didYouMean = (word: string, known: readonly string[]): string => {
  const meant = closest(word, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
};
