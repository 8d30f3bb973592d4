// The scripts that come when they are wanted: those of other views, and what of a report is below
// its first screen.

// The browser got none. A controller of another version has scripts of other names.
export class NoScript extends Error {}

export async function loaded<T>(script: Promise<T>): Promise<T> {
  try {
    return await script;
  } catch {
    throw new NoScript("the controller has another version of the page: load it again");
  }
}
