//! Targets for manifests and messages of file transfers.

use tailcut_cast::files::hash::Hash;
use tailcut_cast::files::manifest::{Header, LONGEST_PATH, ManifestError, Reader, Writer};
use tailcut_cast::transfer::Message;

/// Reads a manifest: its header and its pages.
///
/// # Panics
/// If a path is too long, a name is `..`, or the names of a directory are not in ascending order.
/// If a value changes when it is written and read again.
/// If the text of an error is empty or has several lines.
pub fn cast_manifest(bytes: &[u8]) {
    match read(bytes) {
        Ok(entries) => assert!(entries > 0),
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.is_empty() && !shown.contains('\n'), "{shown:?}");
        }
    }
}

fn read(bytes: &[u8]) -> Result<u64, ManifestError> {
    let header = Header::decode(bytes)?;
    assert_eq!(header.encode(), bytes[..Header::LENGTH]);
    let mut reader = Reader::new(header);
    let mut writer = Writer::new(
        Vec::new(),
        header.content,
        header.slab_log2,
        header.owners,
        header.xattrs,
    );
    let (mut data, mut entries) = (0, 0);
    let mut path: Vec<Vec<u8>> = Vec::new();
    for page in 0..header.pages() {
        let Some((begins, length)) = header.page(page) else {
            break;
        };
        let rest = bytes.get(begins as usize..).unwrap_or_default();
        // The last bytes of the page may be missing. The reader must refuse such a page.
        let page = &rest[..length.min(rest.len())];
        reader.page(page, |number, offset, entry| {
            assert_eq!((number, offset), (entries, data));
            assert!(!entry.name.contains(&b'/') && entry.name != b"..");
            assert!(entry.name.len() <= LONGEST_PATH);
            let level = usize::from(entry.level);
            assert!(level <= path.len());
            assert!(path.get(level).is_none_or(|last| &**last < entry.name));
            path.truncate(level);
            path.push(entry.name.to_owned());
            writer.add(entry).expect("a decoded message can be encoded");
            entries += 1;
            data += entry.size();
        })?;
    }
    reader.finish()?;
    let (again, pages) = writer.finish().expect("a vector takes all");
    let told = (header.entries, header.data);
    assert_eq!(told, (again.entries, again.data));
    assert_eq!(again.hash, Hash::of(&pages));
    // The writer fills pages, but a reader also accepts pages with fewer entries.
    if header.pages() == 1 {
        assert_eq!(pages, bytes[Header::LENGTH..Header::LENGTH + pages.len()]);
    }
    let mut reader = Reader::new(again);
    for page in 0..again.pages() {
        let (begins, length) = again.page(page).expect("a page");
        let begins = begins as usize - Header::LENGTH;
        let page = &pages[begins..begins + length];
        reader.page(page, |_, _, _| ()).expect("what was written");
    }
    reader.finish().expect("what was written");
    Ok(entries)
}

/// Reads a message between the two ends of a transfer.
///
/// # Panics
/// If a message changes when it is written and read again, or if the text of an error is empty or has several lines.
pub fn cast_transfer(bytes: &[u8]) {
    match Message::decode(bytes.to_vec()) {
        Ok((footer, message)) => {
            if let Message::Fail(_, why) | Message::Wait(why) = &message {
                assert!(!why.chars().any(char::is_control), "{why:?}");
            } else {
                assert_eq!(message.encode(footer), bytes);
            }
            assert_eq!(
                Message::decode(message.encode(footer)),
                Ok((footer, message))
            );
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.is_empty() && !shown.contains('\n'), "{shown:?}");
        }
    }
}
