//! Real servers on this machine, each with its own port and directory.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// User id without rights. PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// Server that listens on its own port.
pub struct Server {
    pub port: u16,
    _child: Child,
    folder: TempDir,
}

/// Returns the path of a program. Debian installs servers in directories that are not in an ordinary user's PATH.
pub fn find(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/bin".into(), "/usr/sbin".into()]);
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let mut files = folders.iter().map(|folder| folder.join(program));
    files
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("{program} is missing: .ci/tools installs it"))
}

/// Runs a program and returns its output.
///
/// # Errors
/// The program failed. The error contains its output.
pub async fn run(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output().await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{command:?}: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Server {
    /// Starts a server in a directory that the caller has filled.
    /// `command` returns the command for the directory and a free port.
    async fn start(
        folder: TempDir,
        command: impl AsyncFn(&Path, u16) -> io::Result<Command>,
    ) -> io::Result<Self> {
        loop {
            let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
            let mut command = command(folder.path(), port).await?;
            let log = std::fs::File::create(folder.path().join("log"))?;
            let mut child = command
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .kill_on_drop(true)
                .spawn()?;
            loop {
                if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                    return Ok(Self {
                        port,
                        _child: child,
                        folder,
                    });
                }
                if let Some(status) = child.try_wait()? {
                    let log = std::fs::read_to_string(folder.path().join("log"))?;
                    // Another process has taken the port since it was found free.
                    if log.contains("in use") {
                        break;
                    }
                    panic!("{command:?} ended with {status}: {log}");
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    pub async fn redis() -> io::Result<Self> {
        Self::start(tempfile::tempdir()?, async |_, port| {
            let mut command = Command::new(find("redis-server"));
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(["--save", "", "--appendonly", "no"]);
            Ok(command)
        })
        .await
    }

    pub async fn memcached() -> io::Result<Self> {
        Self::start(tempfile::tempdir()?, async |_, port| {
            let mut command = Command::new(find("memcached"));
            // memcached refuses to run as root without an explicit user.
            command.args(["-p", &port.to_string(), "-l", "127.0.0.1", "-U", "0"]);
            command.args(["-u", "nobody"]);
            Ok(command)
        })
        .await
    }

    /// Starts nginx with `files`, which are names with contents.
    pub async fn nginx(files: &[(&str, Vec<u8>)]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("files");
        std::fs::create_dir(&root)?;
        for (name, bytes) in files {
            std::fs::write(root.join(name), bytes)?;
        }
        Self::start(folder, async |folder, port| {
            let at = folder.display();
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let paths = paths.map(|name| format!("{name}_temp_path {at}/{name};"));
            let config = format!(
                "daemon off; master_process off; pid {at}/pid; error_log stderr;\n\
                 events {{}}\n\
                 http {{ access_log off; {} keepalive_requests 10000;\n\
                 server {{ listen 127.0.0.1:{port}; root {at}/files; }} }}\n",
                paths.join(" ")
            );
            std::fs::write(folder.join("nginx.conf"), config)?;
            let mut command = Command::new(find("nginx"));
            command.arg("-p").arg(folder);
            command.arg("-c").arg(folder.join("nginx.conf"));
            Ok(command)
        })
        .await
    }

    pub async fn postgresql() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        if is_root() {
            std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
            chown(&data, Some(NOBODY), Some(NOBODY))?;
        }
        let mut make = as_nobody(find("initdb"), &data);
        make.args(["--no-sync", "--auth=trust", "--username=postgres"]);
        make.args(["--locale=C", "--encoding=UTF8", "--pgdata"])
            .arg(&data);
        run(&mut make).await?;
        Self::start(folder, async |folder, port| {
            let data = folder.join("data");
            let mut command = as_nobody(find("postgres"), &data);
            command.arg("-D").arg(&data).arg("-k").arg(&data);
            command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
            command.args(["-c", "fsync=off"]);
            Ok(command)
        })
        .await
    }

    pub async fn mariadb() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        let option = |name: &str, value: &Path| {
            let mut option = OsString::from(format!("--{name}="));
            option.push(value);
            option
        };
        let user = is_root().then_some("--user=root");
        let mut make = Command::new(find("mariadb-install-db"));
        make.args(["--no-defaults", "--skip-test-db", "--skip-name-resolve"]);
        make.arg("--auth-root-authentication-method=normal");
        make.arg(option("datadir", &data)).args(user);
        run(&mut make).await?;
        Self::start(folder, async |folder, port| {
            let mut command = Command::new(find("mariadbd"));
            command.args(["--no-defaults", "--skip-name-resolve", "--skip-log-bin"]);
            command.arg(format!("--port={port}"));
            command
                .args([
                    "--bind-address=127.0.0.1",
                    "--innodb-flush-log-at-trx-commit=0",
                ])
                .arg(option("socket", &folder.join("socket")))
                .arg(option("datadir", &folder.join("data")))
                .args(user);
            Ok(command)
        })
        .await
    }

    /// Returns the log of the server.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Returns a command that runs as a user without rights in `folder`, for programs that refuse to run as root.
fn as_nobody(program: PathBuf, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
